#include <holdfast/election.hpp>

#include "client/session_core.hpp"
#include "core/control_character.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast {

namespace {

using namespace std::chrono_literals;

/// A leader that is followed by time alone leaves no trace that wakes whoever waits for a change.
constexpr duration look_every = 1s;

/// A lock that brings no token is kept without its owner, and so without what that published.
error nothing_published(const lock_name& name, const std::string& url) {
  return {errc::unsupported,
          "election " + name.printable() + " in " + url +
              ": who holds it has no token, and so publishes nothing: tokens=off, or another "
              "Redlock client's lock of that name. Elections need the store's tokens"};
}

error no_tokens(const lock_name& name, const std::string& url) {
  return {errc::unsupported, "election " + name.printable() + " in " + url +
                                 ": this store gives no tokens (tokens=off), which elections need"};
}

}  // namespace

std::optional<leader> leader_in(const snapshot& all, const lock_name& name) {
  const lock_info* queue = all.find(name);
  if (queue == nullptr) return std::nullopt;
  const entry_info& first = queue->entries.front();
  // The name is a lock like any other: who shares it leads nobody.
  if (!first.granted || !first.mode.is_exclusive()) return std::nullopt;
  const session_info* who = all.find(first.session);
  // A picture of several nodes may show a lock whose session has just gone.
  if (who == nullptr) return std::nullopt;
  // Its entry stays until somebody comes, who takes the place at once.
  if (who->life == life::dead) return std::nullopt;
  return leader{who->id, first.token, who->owner.label, who->owner};
}

leadership& leadership::operator=(leadership&& other) noexcept {
  // The lock first: with its session gone it could no longer be released.
  lock_ = std::move(other.lock_);
  session_ = std::move(other.session_);
  return *this;
}

// What is called in here may own this leadership, and end it: it is not touched afterwards.
result<void> leadership::resign() && {
  const auto core = session_.core_;
  auto released = std::move(lock_).release();
  const auto closed = core->close();
  return released ? closed : released;
}

void election::must_be_held() const noexcept {
  if (!store_.view_) detail::bad_access("an election that was moved from was used");
}

const lock_name& election::name() const noexcept {
  must_be_held();
  return name_;
}

const std::string& election::url() const noexcept {
  must_be_held();
  return store_.url();
}

result<election> election::open(std::string_view url, lock_name name) {
  if (const auto good = name.check(); !good) return good.error();
  auto opened = store::open(url);
  if (!opened) return opened.error();
  return election(std::move(*opened), std::move(name));
}

result<leadership> election::campaign(std::string value, campaign_options options) {
  must_be_held();
  if (value.size() > value_max) {
    return error(errc::invalid_argument, "the value to publish has " +
                                             std::to_string(value.size()) + " bytes; at most " +
                                             std::to_string(value_max) + " are allowed");
  }
  if (std::ranges::any_of(value, core::is_control)) {
    return error(errc::invalid_argument,
                 "the value to publish may not hold control characters: programs that print it, "
                 "one leader to a line, could not be read back");
  }
  // Else it would wait for whoever holds it, in vain.
  if (!store_.gives_tokens()) return no_tokens(name_, store_.url());
  // Nothing ends the opening of its session, which a store that hangs makes long.
  if (options.stop.stop_requested()) {
    return error(errc::cancelled, "campaign " + name_.printable() + ": cancelled before it began");
  }
  // The value is the label of a session of its own, so that every engine has elections, and each
  // candidacy ends alone.
  auto own = store_.open_session({.ttl = options.ttl,
                                  .program = std::move(options.program),
                                  .instance = std::move(options.instance),
                                  .label = std::move(value),
                                  .observer = std::move(options.observer)});
  if (!own) return own.error();
  auto elected = own->acquire(name_, {.wait = options.wait, .stop = std::move(options.stop)});
  if (!elected) return elected.error();
  if (elected->token().value == 0) return no_tokens(name_, store_.url());
  return leadership(std::move(*own), std::move(*elected));
}

result<election::picture> election::look() {
  must_be_held();
  const auto all = store_.list();
  if (!all) return all.error();
  picture seen{leader_in(*all, name_), all->rest};
  if (seen.who && seen.who->term.value == 0) return nothing_published(name_, store_.url());
  return seen;
}

result<std::optional<leader>> election::current() {
  auto seen = look();
  if (!seen) return seen.error();
  return std::move(seen->who);
}

result<std::optional<leader>> election::wait_for_other(const std::optional<leader>& known,
                                                       duration wait, std::stop_token stop) {
  must_be_held();
  if (wait < duration::zero()) {
    return error(errc::invalid_argument, "a wait cannot be negative");
  }
  const time_point began = clock::now();
  while (true) {
    auto seen = look();
    if (!seen) return seen.error();
    if (seen->who != known) return std::move(seen->who);
    const duration left = wait - (clock::now() - began);
    if (left <= duration::zero() || stop.stop_requested()) return std::move(seen->who);
    const auto changed =
        store_.wait_for_change(std::min(left, std::max(look_every, seen->rest)), stop);
    if (!changed) return changed.error();
  }
}

}  // namespace holdfast
