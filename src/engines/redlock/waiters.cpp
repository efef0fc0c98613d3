#include "engines/redlock/waiters.hpp"

#include "core/fnv1a.hpp"
#include "core/splitmix.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/replies.hpp"
#include "io/thread/random.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::engines::redlock {

namespace {

using namespace std::chrono_literals;
using core::redlock::for_each;
using wakeup = waiter::wakeup;

/// How often in a row a lock stays in one process while others wait, or may.
constexpr int streak_max = 4;
/// While a majority of the nodes knows of nobody it may stay for longer; but programs that tell
/// nobody wait, too.
constexpr duration alone_limit = 100ms;
/// A client that was called asks within a few round trips: for so long it is let by, at least.
constexpr duration courtesy_limit = 5ms;
/// Once somebody may have come by itself; more often in a row another one has the same seat.
constexpr int in_vain_max = 2;
/// A client that takes a lock again and again comes back within this time.
constexpr duration linger_limit = 2ms;
constexpr std::size_t lingering_max = 256;

unsigned random_seat() { return static_cast<unsigned>(io::random_bits() % seats); }

}  // namespace

waiters::waiters(std::shared_ptr<cluster> c)
    : cluster_(std::move(c)), database_(cluster_->set().login.database), seat_(random_seat()) {}

void waiters::was_called(const std::string& name, bool granted) {
  const io::held_mutex hold(mutex_);
  const auto found = queues_.find(name);
  if (found == queues_.end()) return;
  queue& q = found->second;
  q.in_vain = granted ? 0 : q.in_vain + 1;
  if (granted && q.called != time_point{}) q.circle = clock::now() - q.called;
  if (q.in_vain < in_vain_max) return;
  seat_ = random_seat();
  q.moves = true;
  q.in_vain = 0;
}

duration waiters::courtesy(const std::string& name) const {
  const io::held_mutex hold(mutex_);
  const auto found = queues_.find(name);
  return found == queues_.end() ? courtesy_limit
                                : std::max(courtesy_limit, 2 * found->second.circle);
}

// ---- the queue ----

waiters::place waiters::join(const std::string& name, const std::shared_ptr<waiter>& who) {
  const io::held_mutex hold(mutex_);
  queue& q = queues_[name];
  q.in_order.push_back(who);
  if (q.in_order.size() > 1) return place::behind;
  q.parted = time_point::max();
  if (q.subscribed.empty()) q.seat = seat_;
  q.lets_by = q.others == rivals::wait && clock::now() - q.called < courtesy_limit;
  return q.lets_by ? place::courtesy : place::first;
}

/// Three things follow. A queue that nobody stands in any more ends and unsubscribes; but not right
/// after a grant, for its process comes back for the lock, or releases it, and would subscribe
/// again. A grant ends the blindness of all that still wait. And where the first one left, the next
/// is first: it asks at once, except behind a grant, when it rests until the lock is let go.
void waiters::leave(const std::string& name, const waiter& who, bool granted) {
  std::shared_ptr<waiter> next;
  node_set silent;
  unsigned seat{};
  bool sees = false;
  {
    const io::held_mutex hold(mutex_);
    const auto found = queues_.find(name);
    if (found == queues_.end()) return;
    auto& all = found->second.in_order;
    const auto at = std::ranges::find_if(all, [&](const auto& w) { return w.get() == &who; });
    if (at == all.end()) return;
    const bool was_first = at == all.begin();
    all.erase(at);
    if (granted) {
      found->second.visibility.reached();
      sees = found->second.blind.has_value();
      found->second.blind.reset();
    }
    const bool lingers = granted && !found->second.moves && queues_.size() <= lingering_max &&
                         !found->second.subscribed.empty();
    if (all.empty() && !lingers) {
      silent = found->second.subscribed;
      seat = found->second.seat;
      queues_.erase(found);
    } else if (was_first && !all.empty()) {
      next = all.front();
    }
  }
  unsubscribe(name, seat, silent);
  if (sees) have_all_look_up(name);
  if (next) next->turn(granted ? wakeup::held : wakeup::first);
}

waiters::view waiters::round_ended(const std::string& name, const waiter& who,
                                   const core::reply& with, bool cut_off, time_point now) {
  using state = core::redlock::visibility::state;
  view v;
  {
    const io::held_mutex hold(mutex_);
    const auto found = queues_.find(name);
    if (found == queues_.end()) return v;
    queue& q = found->second;
    if (q.in_order.empty() || q.in_order.front().get() != &who) return v;
    if (with.what == core::status::unavailable) {
      q.visibility.missed(cut_off, now);
    } else {
      q.visibility.reached();
    }
    v.doubtful = q.visibility.current() == state::doubtful;
    v.blind = q.visibility.current() == state::blind;
    v.turned = v.blind != q.blind.has_value();
    q.blind.reset();
    if (v.blind) q.blind = with;
  }
  if (v.turned) have_all_look_up(name);
  return v;
}

void waiters::have_all_look_up(const std::string& name) {
  std::vector<std::shared_ptr<waiter>> all;
  {
    const io::held_mutex hold(mutex_);
    const auto found = queues_.find(name);
    if (found == queues_.end()) return;
    all.assign(found->second.in_order.begin(), found->second.in_order.end());
  }
  for (const auto& w : all) w->look_up();
}

std::optional<core::reply> waiters::blindness(const std::string& name) const {
  const io::held_mutex hold(mutex_);
  const auto found = queues_.find(name);
  return found == queues_.end() ? std::nullopt : found->second.blind;
}

bool waiters::tell_first(std::string_view name, wakeup what) {
  std::shared_ptr<waiter> first;
  {
    const io::held_mutex hold(mutex_);
    const auto found = queues_.find(name);
    if (found == queues_.end() || found->second.in_order.empty()) return false;
    first = found->second.in_order.front();
  }
  first->turn(what);
  return true;
}

// ---- a release of this process ----

waiters::parting waiters::part(const std::string& name) {
  parting p = part_here(name);
  if (!p.seat || p.keeps) return p;
  if (const auto where = listening_node(name)) p.calls_at.add(*where);
  return p;
}

/// All of it but where others hear a call: that needs the nodes.
waiters::parting waiters::part_here(const std::string& name) {
  parting p;
  const io::held_mutex hold(mutex_);
  const auto found = queues_.find(name);
  if (found == queues_.end()) return p;
  queue& q = found->second;
  p.waits = !q.in_order.empty();
  p.seat = q.seat;
  p.listens_at = q.subscribed;
  p.others = q.others;
  const time_point now = clock::now();
  if (q.streak == 0) q.streak_began = now;
  const bool is_alone = q.others == rivals::none && now - q.streak_began < alone_limit;
  p.keeps = p.waits && (++q.streak <= streak_max || is_alone);
  // Counting costs the nodes as much as the release: once before it may go to others.
  p.counts = !p.keeps || q.streak % streak_max == 0;
  if (p.counts) q.none = {};
  q.lets_by = p.waits && !p.keeps && q.others == rivals::wait;
  if (p.keeps) return p;
  q.streak = 0;
  q.called = now;
  if (!p.waits) linger(name, q);
  return p;
}

void waiters::parted(const std::string& name, const parting& how) {
  if (!how.seat) return;
  // Who came in this moment may have asked ahead of the release.
  const bool alone = how.waits && how.others == rivals::none;
  const auto what = how.keeps                    ? wakeup::freed
                    : how.others == rivals::wait ? wakeup::others
                    : alone                      ? wakeup::strangers
                                                 : wakeup::heard;
  // It may have left in this moment.
  if (!tell_first(name, what) && how.keeps) pass_on(name);
}

void waiters::forsaken(const std::string& name) {
  const io::held_mutex hold(mutex_);
  const auto found = queues_.find(name);
  if (found != queues_.end() && found->second.in_order.empty()) linger(name, found->second);
}

void waiters::others_wait(const std::string& name) {
  const io::held_mutex hold(mutex_);
  auto found = queues_.find(name);
  if (found == queues_.end()) {
    // Whoever comes back for it at once lets them by.
    if (queues_.size() >= lingering_max) return;
    found = queues_.try_emplace(name).first;
    found->second.seat = seat_;
    found->second.called = clock::now();
    found->second.visibility.reached();
    linger(name, found->second);
  }
  found->second.others = rivals::wait;
}

void waiters::nobody_waits(const std::string& name, node_index i) {
  const auto where = listening_node(name);
  {
    const io::held_mutex hold(mutex_);
    const auto found = queues_.find(name);
    if (found == queues_.end()) return;
    queue& q = found->second;
    q.none.add(i);
    // The one where they would listen must be among them.
    if (!where || !q.none.has(*where)) return;
    if (q.none.size() < cluster_->majority()) return;
    q.others = rivals::none;
    if (!std::exchange(q.lets_by, false)) return;
  }
  tell_first(name, wakeup::heard);
}

void waiters::pass_on(const std::string& name) {
  const auto where = listening_node(name);
  if (where && !tell_first(name, wakeup::first)) call_next(name, *where);
}

void waiters::call_next(std::string_view name, node_index i) {
  std::string bytes;
  commands::call_next(bytes, name, seat_, database_);
  cluster_->ask(i, bytes, clock::now() + inquiry_limit, [](const io::redis_answer&) {});
}

/// Whoever comes back at once need not subscribe again.
void waiters::linger(const std::string& name, queue& q) {
  q.parted = clock::now();
  cluster_->loop().at(q.parted + linger_limit, [self = weak_from_this(), name] {
    if (const auto s = self.lock()) s->leave_empty(name, clock::now() - linger_limit);
  });
}

/// False: somebody waits, or it was let go later than that.
bool waiters::leave_empty(std::string_view name, time_point parted) {
  std::string of;
  queue gone;
  {
    const io::held_mutex hold(mutex_);
    const auto found = queues_.find(name);
    if (found == queues_.end()) return true;
    if (!found->second.in_order.empty() || found->second.parted > parted) return false;
    of = found->first;
    gone = std::move(found->second);
    queues_.erase(found);
  }
  unsubscribe(of, gone.seat, gone.subscribed);
  return true;
}

// ---- messages of the nodes ----

/// A subscription may outlive its waiters: a full connection takes no UNSUBSCRIBE, and who leaves
/// may do so in the moment in which another thread subscribes. To every other client it is somebody
/// who waits, whom each release calls in vain.
void waiters::heard(node_index i, const news& n) {
  const std::string name(n.name);
  if (!has_queue(name)) {
    drop(n.channel, i);
    listen_again(name, node_set::only(i));
    if (n.calls && listening_node(name) == i) call_next(name, i);
    return;
  }
  if (!n.calls) {
    tell_first(name, wakeup::heard);
    return;
  }
  // Few still sit at the node that was the listening one before, and it would call another client
  // than the new one does.
  if (listening_node(name) != i) return;
  if (tell_first(name, wakeup::next)) return;
  if (!leave_empty(name, time_point::max())) {
    // Somebody came in this moment, and may be gone again.
    if (!tell_first(name, wakeup::next)) call_next(name, i);
    return;
  }
  // Its seat may be another than that of the queue that ended.
  drop(n.channel, i);
  listen_again(name, node_set::only(i));
  call_next(name, i);
}

bool waiters::has_queue(const std::string& name) const {
  const io::held_mutex hold(mutex_);
  return queues_.contains(name);
}

/// Rendezvous hashing: clients may have the nodes in any order.
std::optional<node_index> waiters::listening_node(const std::string& name) const {
  const auto& set = cluster_->set();
  const node_set up =
      cluster_->worth_asking(cluster_->now_voting()->voters, set.timeout_for(set.max_ttl));
  const std::uint64_t start = core::fnv1a(name);
  std::optional<std::pair<std::uint64_t, node_index>> least;
  for_each(up, [&](node_index i) {
    if (!cluster_->may_subscribe(i)) return;
    std::uint64_t mixed = core::fnv1a(cluster_->addresses()[i], start);
    const std::pair weighed(core::splitmix(mixed), i);
    if (!least || weighed < *least) least = weighed;
  });
  if (!least) return std::nullopt;
  return least->second;
}

void waiters::listen_for(const std::string& name) {
  const auto where = listening_node(name);
  if (!where) return;
  unsigned seat{};
  {
    const io::held_mutex hold(mutex_);
    const auto found = queues_.find(name);
    if (found == queues_.end() || found->second.subscribed.has(*where)) return;
    found->second.subscribed.add(*where);
    seat = found->second.seat;
  }
  subscribe(name, seat, *where);
}

void waiters::subscribe(const std::string& name, unsigned seat, node_index i) {
  std::string bytes;
  commands::subscribe(bytes, free_channel(name, database_));
  const time_point limit = clock::now() + inquiry_limit;
  cluster_->ask(
      i, bytes, limit, [](const io::redis_answer&) {}, cluster::kind::subscription);
  bytes.clear();
  commands::subscribe(bytes, seat_channel(name, seat, database_));
  cluster_->ask(
      i, bytes, limit,
      [self = weak_from_this(), name, i](const io::redis_answer& a) {
        const auto w = self.lock();
        // Without an answer it may still come; the end of the queue unsubscribes.
        if (!w || a.what == io::redis_answer::outcome::unknown) return;
        const bool done = a.reply != nullptr && replies::subscribe(*a.reply) == fault::none;
        if (!done) w->drop(free_channel(name, w->database_), i);
        w->subscribed(name, i, done);
      },
      cluster::kind::subscription);
  ask_how_it_looks(name, i);
}

void waiters::subscribed(const std::string& name, node_index i, bool done) {
  const io::held_mutex hold(mutex_);
  const auto found = queues_.find(name);
  if (found == queues_.end()) return;
  if (done && found->second.subscribed.has(i)) found->second.listening.add(i);
  if (done) return;
  found->second.subscribed.remove(i);
  found->second.listening.remove(i);
}

void waiters::ask_how_it_looks(const std::string& name, node_index i) {
  std::string bytes;
  commands::peek(bytes, name, cluster_->set().tokens);
  cluster_->ask(i, bytes, clock::now() + inquiry_limit,
                [self = weak_from_this(), name](const io::redis_answer& a) {
                  const auto w = self.lock();
                  if (!w) return;
                  const auto taken = a.reply == nullptr ? std::nullopt : replies::peek(*a.reply);
                  if (taken) w->tell_first(name, *taken ? wakeup::looks_taken : wakeup::looks_free);
                });
}

bool waiters::hears(const std::string& name) const {
  const io::held_mutex hold(mutex_);
  const auto found = queues_.find(name);
  return found != queues_.end() && !found->second.listening.empty();
}

void waiters::unsubscribe(const std::string& name, unsigned seat, node_set where) {
  for_each(where, [&](node_index i) {
    drop(free_channel(name, database_), i);
    drop(seat_channel(name, seat, database_), i);
  });
  listen_again(name, where);
}

/// Behind an UNSUBSCRIBE. Who came in this moment may have subscribed ahead of it.
void waiters::listen_again(const std::string& name, node_set where) {
  if (where.empty()) return;
  unsigned seat{};
  {
    const io::held_mutex hold(mutex_);
    const auto found = queues_.find(name);
    if (found == queues_.end()) return;
    where = where & found->second.subscribed;
    seat = found->second.seat;
  }
  for_each(where, [&](node_index i) { subscribe(name, seat, i); });
}

void waiters::drop(std::string_view channel, node_index i) {
  std::string bytes;
  commands::unsubscribe(bytes, channel);
  cluster_->ask(
      i, bytes, clock::now() + inquiry_limit, [](const io::redis_answer&) {},
      cluster::kind::unsubscription);
}

/// The next connection has no subscriptions.
void waiters::disconnected(node_index i) {
  const io::held_mutex hold(mutex_);
  for (auto& [name, q] : queues_) {
    q.subscribed.remove(i);
    q.listening.remove(i);
  }
}

}  // namespace holdfast::engines::redlock
