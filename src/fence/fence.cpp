#include <holdfast/fence.hpp>

#include "fence/floor_file.hpp"
#include "fence/gate.hpp"

#include <utility>

namespace holdfast {

namespace {

constexpr char moved_from[] = "a fence that was moved from was used";

fencing::gate& used(const std::shared_ptr<fencing::gate>& at, const char* what) noexcept {
  if (!at) detail::bad_access(what);
  return *at;
}

}  // namespace

pass::pass(std::shared_ptr<fencing::gate> at, std::uint64_t id, holdfast::token value) noexcept
    : at_(std::move(at)), id_(id), value_(value) {}
pass::pass(pass&&) noexcept = default;

pass& pass::operator=(pass&& other) noexcept {
  if (this == &other) return *this;
  if (at_) at_->close(id_);
  at_ = std::move(other.at_);
  id_ = other.id_;
  value_ = other.value_;
  return *this;
}

pass::~pass() {
  if (at_) at_->close(id_);
}

fencing::gate& pass::held() const noexcept {
  return used(at_, "a pass that was moved from was used");
}
token pass::token() const noexcept {
  held();
  return value_;
}
bool pass::valid() const noexcept { return held().valid(id_); }
void pass::end_commit(fencing::gate& at, std::uint64_t id) noexcept { at.end_commit(id); }

result<void> pass::begin_commit() { return held().begin_commit(id_, value_); }

fence::fence(std::shared_ptr<fencing::gate> at) noexcept : at_(std::move(at)) {}
fence::fence(older_passes policy)
    : at_(std::make_shared<fencing::gate>(std::nullopt, policy, nullptr)) {}
fence::fence(token_source from, older_passes policy)
    : at_(std::make_shared<fencing::gate>(std::move(from), policy, nullptr)) {}
fence::fence(fence&&) noexcept = default;
fence& fence::operator=(fence&&) noexcept = default;
fence::~fence() = default;

result<fence> fence::open(std::string_view url, std::string resource, older_passes policy,
                          missing if_missing) {
  auto file = fencing::floor_file::open(url, std::move(resource), if_missing);
  if (!file) return file.error();
  // So that floor(), newest() and source() tell of the file before the first token comes.
  const auto known = (*file)->read();
  if (!known) return known.error();
  auto at = std::make_shared<fencing::gate>(std::nullopt, policy, std::move(*file));
  at->know(*known);
  return fence(std::move(at));
}

result<pass> fence::enter(const fencing_token& t, holdfast::mode mode, enter_options options) {
  return used(at_, moved_from).enter(t, mode, options);
}

result<pass> fence::enter(const fencing_token& t, enter_options options) {
  return enter(t, mode::exclusive(), std::move(options));
}
result<void> fence::admit(const fencing_token& t, holdfast::mode mode) {
  auto& at = used(at_, moved_from);
  // Without the mutex, where the answer changes nothing.
  if (at.admits_at_once(t, mode)) return {};
  return at.admit(t, mode);
}
result<void> fence::raise(holdfast::token to, enter_options options) {
  return used(at_, moved_from).raise(to, std::nullopt, options);
}
result<void> fence::raise(const fencing_token& to, enter_options options) {
  return used(at_, moved_from).raise(to.value, to.from, options);
}
token fence::floor() const noexcept { return used(at_, moved_from).floor(); }
token fence::newest() const noexcept { return used(at_, moved_from).newest(); }
std::optional<token_source> fence::source() const { return used(at_, moved_from).source(); }

}  // namespace holdfast
