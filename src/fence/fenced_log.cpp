#include "fence/log_ground.hpp"
#include "fence/log_owner.hpp"

#include "core/assert.hpp"

#include <holdfast/fenced_log.hpp>

#include <utility>

namespace holdfast {

fenced_log::fenced_log(std::unique_ptr<fencing::log_owner> owner) noexcept
    : owner_(std::move(owner)) {}
fenced_log::fenced_log(fenced_log&& other) noexcept = default;
fenced_log& fenced_log::operator=(fenced_log&& other) noexcept = default;
fenced_log::~fenced_log() = default;

result<fenced_log> fenced_log::open(const std::string& directory, const fencing_token& with,
                                    const log_options& options) {
  if (auto good = with.check(); !good) return good.error();
  // Before the directory is made: what is refused leaves nothing behind.
  if (auto good = fencing::log_owner::check(options); !good) return good.error();
  auto on = fencing::real_ground(directory, io::absent::create);
  if (!on) return on.error();
  auto owner = fencing::log_owner::open(std::move(*on), with, options);
  if (!owner) return owner.error();
  return fenced_log(std::move(*owner));
}

result<record_number> fenced_log::append(std::span<const std::byte> record, survives durability) {
  HOLDFAST_ASSERT(owner_ != nullptr);
  return owner_->append(record, durability);
}
result<void> fenced_log::sync() {
  HOLDFAST_ASSERT(owner_ != nullptr);
  return owner_->sync();
}
result<record_number> fenced_log::seal() {
  HOLDFAST_ASSERT(owner_ != nullptr);
  return owner_->seal();
}
result<record_number> fenced_log::discard_before(record_number first) {
  HOLDFAST_ASSERT(owner_ != nullptr);
  return owner_->discard_before(first);
}
result<std::size_t> fenced_log::compact() {
  HOLDFAST_ASSERT(owner_ != nullptr);
  return owner_->compact();
}
const log_takeover& fenced_log::opened() const noexcept {
  HOLDFAST_ASSERT(owner_ != nullptr);
  return owner_->opened();
}

result<record_number> seal_log(const std::string& directory, const fencing_token& with) {
  if (auto good = with.check(); !good) return good.error();
  auto on = fencing::real_ground(directory, io::absent::create);
  if (!on) return on.error();
  const std::string source = with.from.str();
  auto log = fencing::log_directory::open(std::move(*on), &source, io::opening::write);
  if (!log) return log.error();
  // The log was made if there was none: it refuses older tokens from its first day.
  const auto taken = fencing::take_over(*log, with.value, fencing::then::leave_closed);
  if (!taken) return taken.error();
  fencing::clean_up(*log, *taken);
  return record_number{taken->version.next};
}

}  // namespace holdfast
