#include <holdfast/store.hpp>

#include "client/await.hpp"
#include "client/failure.hpp"
#include "client/left_alone.hpp"
#include "client/operator_view.hpp"
#include "client/session_core.hpp"
#include "client/ttl_advisor.hpp"
#include "io/process/host_checks.hpp"

#include <utility>

namespace holdfast {

namespace {

// As sessions and locks are: the engine behind it is not touched in a forked child.
void drop(std::shared_ptr<client::operator_view>& view) noexcept {
  if (view && view->store()->left_alone()) return client::leave_alone(std::move(view));
  if (view) view->store()->notes().settle();
  view.reset();
}

}  // namespace

store::store(std::shared_ptr<client::operator_view> view) noexcept : view_(std::move(view)) {}
store::store(store&&) noexcept = default;

store& store::operator=(store&& other) noexcept {
  if (this == &other) return *this;
  drop(view_);
  view_ = std::move(other.view_);
  return *this;
}

store::~store() { drop(view_); }

client::operator_view& store::held() const noexcept {
  if (!view_) detail::bad_access("a store that was moved from was used");
  return *view_;
}

result<store> store::open(std::string_view url, missing if_missing) {
  auto core = client::store_core::open(url, if_missing);
  if (!core) return core.error();
  return store(std::make_shared<client::operator_view>(std::move(*core)));
}

result<presence> store::find(std::string_view url) { return client::store_core::find(url); }

const std::string& store::url() const noexcept { return held().store()->url(); }

result<store_identity> store::identity() const {
  if (auto usable = held().store()->usable(); !usable) return usable.error();
  return held().store()->identity();
}

bool store::gives_tokens() const noexcept { return held().store()->opened().gives_tokens; }

result<session> store::open_session(session_options options) {
  auto core = client::session_core::open(held().store(), std::move(options));
  if (!core) return core.error();
  return client::session_core::make_session(std::move(*core));
}

result<snapshot> store::list() { return held().list(); }

result<bool> store::wait_for_change(duration wait, std::stop_token stop) {
  return held().wait_for_change(wait, std::move(stop));
}

result<denial> store::deny(session_id id, std::string by, std::string why) {
  return held().deny(id, std::move(by), std::move(why));
}

result<owner_info> store::break_session(session_id id) { return held().break_session(id); }
result<std::vector<finding>> store::diagnose() { return held().diagnose(); }

result<finding> store::advise_ttl(std::optional<duration> intended,
                                  const std::function<duration(duration)>& early) {
  if (auto usable = held().store()->usable(); !usable) return usable.error();
  return client::advise_ttl(held().store(), intended, early);
}

std::vector<finding> diagnose_machine() { return io::check_host(); }

}  // namespace holdfast
