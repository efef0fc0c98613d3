#include "cli/exit_on_signal.hpp"
#include "cli/run_events.hpp"
#include "cli/wrapper.hpp"

#include <holdfast/fence.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::cli {

using namespace std::chrono_literals;

namespace {

/// Between two attempts to open the store: shorter when little is left of the wait.
constexpr duration open_pause_most = 1s;
constexpr duration open_pause_least = 100ms;

}  // namespace

/// A wait that was asked for is also for a store that does not answer yet, which is said once. The
/// last attempt begins when the wait is over.
or_exit<opening> wrapper::open_in_time() {
  const time_point began = clock::now();
  const auto left = [&] {
    if (options_.wait == forever) return forever;
    return std::max(options_.wait - (clock::now() - began), duration::zero());
  };
  wait_left_ = options_.wait;
  for (bool said = false;; said = true) {
    auto opened = open_once();
    if (auto* good = std::get_if<opening>(&opened)) return std::move(*good);
    if (const auto ended = end_of_wait(nullptr, nullptr)) return *ended;
    const not_opened& failed = std::get<not_opened>(opened);
    wait_left_ = left();
    if (!failed.passes || !may_open_again()) {
      const bool may_wait = failed.passes && !failed.needs_operator && options_.wait == forever &&
                            !settings_[key::wait].given() && scheme_of(options_.store) != "local";
      std::string more = may_wait ? "; --wait DURATION goes on trying" : "";
      if (said) more = "; tried for " + rounded(clock::now() - began);
      return out_.fail(failed.why.code, failed.why.name, failed.why.text + more);
    }
    if (!said) {
      const std::string most = options_.wait == forever ? "" : " for " + rounded(options_.wait);
      out_.warn(failed.why.text + "; trying again" + most);
    }
    poll_for(std::min(wait_left_, std::clamp(wait_left_ / 4, open_pause_least, open_pause_most)));
    if (const auto ended = end_of_wait(nullptr, nullptr)) return *ended;
    wait_left_ = left();
  }
}

/// Without a wait that was asked for, a mistyped server would be waited for in silence, for ever.
bool wrapper::may_open_again() const { return settings_[key::wait].given() && wait_left_ > 0s; }

std::variant<opening, wrapper::not_opened> wrapper::open_once() {
  const auto failed = [this](const error& e, std::initializer_list<key> causes) {
    return not_opened{fault_in_opening(settings_, e, causes), e == errc::unavailable,
                      e.needs_operator()};
  };
  const exit_on_signal while_opening;
  auto st = store::open(options_.store);
  if (!st) return failed(st.error(), {key::store});
  if (auto lacking = fault_of_needs(*st)) return not_opened{std::move(*lacking)};
  const std::string& command = options_.command.front();
  auto s = st->open_session({.ttl = options_.ttl,
                             .program = command.substr(command.rfind('/') + 1),
                             .instance = options_.instance,
                             .label = options_.label,
                             .observer = events_});
  if (!s) return failed(s.error(), {key::ttl});
  return opening{std::move(*st), std::move(*s)};
}

/// What would make the command impossible once the lock was waited for, perhaps for hours: tokens
/// that are not there, and then a fence that cannot be used, which is made where it is missing.
std::optional<fault> wrapper::fault_of_needs(const store& st) const {
  const auto of = [](errc code, const std::string& text) {
    return fault{to_int(exit_for(code)), name_of(code), harmless(text)};
  };
  if (options_.elects && !st.gives_tokens()) {
    return of(errc::unsupported,
              fmt::format("elect {} in {}: without tokens the store keeps no value that a leader "
                          "publishes; leave tokens=off out of the URL",
                          printable_, st.url()));
  }
  if (is_fenced() && !st.gives_tokens()) {
    return of(errc::unsupported,
              fmt::format("{} gives no tokens, so that no storage can refuse a stale holder of {}; "
                          "leave tokens=off out of the URL",
                          st.url(), printable_));
  }
  if (options_.fenced.empty()) return std::nullopt;
  const auto f = fence::open(options_.fenced, options_.name);
  if (f) return std::nullopt;
  return of(f.error().code(), "--fenced: " + f.error().message());
}

}  // namespace holdfast::cli
