#include "core/redlock/say_together.hpp"
#include "engines/redlock/cluster.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using namespace std::chrono_literals;
using core::redlock::admission;
using core::redlock::say_together;

/// How long a majority waits for the others at the start: a key on all nodes is worth more than one
/// on the first that were connected.
constexpr duration stragglers_limit = 20ms;

/// How often who ends tries to send what full connections did not take.
constexpr duration unsent_again = 5ms;

/// Of a node that is connected and whose state is being read.
std::string not_told_yet(const std::string& address, duration passed) {
  return address + " has not told its state yet, " +
         print_duration(std::chrono::ceil<std::chrono::milliseconds>(passed)) +
         " after it was asked (each question is given " + print_duration(inquiry_limit) + ")";
}

/// Both, where a node refuses two different things.
std::string heeded(const cluster::refusals& r) {
  const auto& [renewal, release] = r.heeded;
  if (renewal.empty() || renewal == release) return release;
  return renewal + (release.empty() ? "" : "; " + release);
}

/// For all nodes of which that is said, once.
constexpr const char* if_not_told =
    ". Try again in a moment; a server of which this is said each time hangs or is overloaded";

}  // namespace

result<void> cluster::verdict() const {
  const io::held_mutex hold(mutex_);
  const time_point now = clock::now();
  std::vector<std::string> away(size());
  bool pending = false;
  std::size_t barred = 0;
  for (node_index i = 0; i < size(); ++i) {
    if (admission_.standing_of(i) != admission::standing::away) continue;
    const auto why = members_[i]->connection->trouble();
    const refusals& refused = members_[i]->refused;
    barred += (why ? why->needs_operator() : refused.barred) ? 1U : 0U;
    away[i] = why ? why->message() : refused.unreadable;
    if (!away[i].empty()) continue;
    const time_point asked = members_[i]->asked;
    // It may have come up a moment ago, and is asked in the next.
    away[i] = not_told_yet(addresses_[i], asked == time_point{} ? duration{} : now - asked);
    pending = true;
  }
  say_together(away, addresses_);
  auto v = admission_.verdict(now, away);
  bool waits = false;
  for (node_index i = 0; i < size(); ++i) {
    waits = waits || admission_.standing_of(i) == admission::standing::waiting;
  }
  if (v) return v;
  const std::string forgets = waits ? notes_->trouble() : "";
  std::string text =
      v.error().message() + (pending ? if_not_told : "") + (forgets.empty() ? "" : "; " + forgets);
  // Whoever else comes back: without one of these there is no majority.
  const bool is_barred = barred > size() - majority();
  return is_barred ? error::for_operator(v.error().code(), std::move(text))
                   : v.error().reworded(std::move(text));
}

std::string cluster::silent() const {
  std::vector<std::string> said(size());
  for (node_index i = 0; i < size(); ++i) {
    const auto why = members_[i]->connection->trouble();
    const io::held_mutex hold(mutex_);
    const member& m = *members_[i];
    std::string more = why ? why->message() : heeded(m.refused);
    if (more.empty()) more = m.refused.unreadable.empty() ? m.refused.look : m.refused.unreadable;
    const bool seen = admission_.standing_of(i) != admission::standing::away;
    if (more.empty() && seen && !admission_.keepers().has(i)) {
      more = addresses_[i] + " " + admission_.explain(i, clock::now());
    }
    said[i] = std::move(more);
  }
  say_together(said, addresses_);
  std::string text;
  for (const std::string& more : said) {
    if (!more.empty()) text += (text.empty() ? "" : "; ") + more;
  }
  return text;
}

/// That enough vote for a majority is for tell_ready().
bool cluster::is_so(readiness how) const {
  if (closed_) return true;
  if (how == readiness::idle) return !admission_.busy();
  // Nodes may vote when they are noted, and who leaves now would leave no notes.
  if (notes_->is_busy()) return false;
  const time_point now = clock::now();
  for (node_index i = 0; i < size(); ++i) {
    const auto is = admission_.standing_of(i);
    const bool under_way = is == admission::standing::marking ||
                           is == admission::standing::joining || admission_.is_returning(i, now);
    // Where a majority votes, it votes no less for being brought up later.
    const bool later = (how == readiness::settled && is == admission::standing::lagging) ||
                       admission_.is_catching_up(i);
    if (!members_[i]->judged || under_way || later) return false;
  }
  return true;
}

/// A client that lives for a moment would leave, each time, nodes that it sealed for a rejoin and
/// never finished; and so would the next.
void cluster::await_idle(time_point limit) {
  const auto idle = std::make_shared<io::latch>();
  when_ready(
      limit, [idle] { idle->open(); }, readiness::idle);
  idle->wait();
}

/// A connection that is full drops nothing: a release is owed until it takes it. Who ended before
/// would leave the key of a lock that is free, until its ttl is over.
void cluster::await_sent(time_point limit) {
  const auto none = std::make_shared<io::latch>();
  loop_->post([self = shared_from_this(), limit, none] { self->send_unsent(limit, none); });
  none->wait();
}

void cluster::send_unsent(time_point limit, const std::shared_ptr<io::latch>& none) {
  bool any = false;
  for_listeners([&any](link_listener& l) { any = l.send_unsent() || any; });
  const time_point now = clock::now();
  if (!any || now >= limit) return none->open();
  loop_->at(now + unsent_again,
            [self = shared_from_this(), limit, none] { self->send_unsent(limit, none); });
}

void cluster::when_ready(time_point limit, std::function<void()> then, readiness how) {
  bool ready{};
  {
    const io::held_mutex hold(mutex_);
    ready = is_so(how);
    if (!ready) {
      waiters_.push_back({limit, std::move(then), how, limit});
      loop_->at(limit, [self = weak_from_this()] {
        if (const auto c = self.lock()) c->tell_ready(clock::now());
      });
    }
  }
  if (ready) return then();
  // A majority may vote already, and no event come that says so again.
  tell_ready(clock::now());
}

void cluster::tell_ready(time_point now) {
  std::vector<waiter> due;
  {
    const io::held_mutex hold(mutex_);
    const bool enough = admission_.voters().size() >= majority();
    for (waiter& w : waiters_) {
      if (w.how != readiness::majority) continue;
      // Who voted may have been put into another epoch since.
      if (!enough) w.limit = w.end;
      if (!enough || w.limit <= now + stragglers_limit) continue;
      w.limit = now + stragglers_limit;
      loop_->at(w.limit, [self = weak_from_this()] {
        if (const auto c = self.lock()) c->tell_ready(clock::now());
      });
    }
    const auto first =
        std::stable_partition(waiters_.begin(), waiters_.end(), [&](const waiter& w) {
          mutex_.held_by_caller();
          return w.limit > now && !is_so(w.how);
        });
    due.assign(std::make_move_iterator(first), std::make_move_iterator(waiters_.end()));
    waiters_.erase(first, waiters_.end());
  }
  for (const waiter& w : due) w.then();
}

}  // namespace holdfast::engines::redlock
