#include "engines/redlock/lines.hpp"

#include "core/fnv1a.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/replies.hpp"
#include "io/random.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using namespace std::chrono_literals;
using core::redlock::for_each;
using cue = lined_up::cue;

constexpr duration inquiry_limit = 2s;
constexpr std::size_t posts_per_name = 2;
constexpr int streak_max = 4;
/// A client that was called asks within a few round trips; nobody is let by for longer.
constexpr duration courtesy_limit = 5ms;
/// A client that takes a lock again and again comes back within this time.
constexpr duration linger_limit = 2ms;
constexpr std::size_t lingering_max = 256;
/// How long it is remembered that others wait for a lock.
constexpr duration rivalry_limit = 1s;
constexpr std::size_t rivalries_max = 256;

unsigned random_seat() { return static_cast<unsigned>(io::random_bits() % seats); }

}  // namespace

lines::lines(std::shared_ptr<cluster> c) : cluster_(std::move(c)), seat_(random_seat()) {}

void lines::seat_was_taken(const std::string& name) {
  seat_ = random_seat();
  const std::lock_guard hold(mutex_);
  if (const auto found = lines_.find(name); found != lines_.end()) found->second.moves = true;
}

// ---- the line ----

lines::place lines::join(const std::string& name, const std::shared_ptr<lined_up>& who) {
  const std::lock_guard hold(mutex_);
  line& l = lines_[name];
  l.waiters.push_back(who);
  if (l.waiters.size() > 1) return place::behind;
  l.parted = time_point::max();
  if (l.subscribed.empty()) l.seat = seat_;
  const auto found = rivalries_.find(name);
  if (found == rivalries_.end()) return place::first;
  const bool now = clock::now() - found->second.called < courtesy_limit;
  return now ? place::courtesy : place::first;
}

void lines::leave(const std::string& name, const lined_up& who, bool granted) {
  std::shared_ptr<lined_up> next;
  node_set silent;
  unsigned seat{};
  {
    const std::lock_guard hold(mutex_);
    const auto found = lines_.find(name);
    if (found == lines_.end()) return;
    auto& waiters = found->second.waiters;
    const auto at = std::ranges::find_if(waiters, [&](const auto& w) { return w.get() == &who; });
    if (at == waiters.end()) return;
    const bool was_first = at == waiters.begin();
    waiters.erase(at);
    const bool lingers = granted && !found->second.moves && lines_.size() <= lingering_max &&
                         !found->second.subscribed.empty();
    if (waiters.empty() && !lingers) {
      silent = found->second.subscribed;
      seat = found->second.seat;
      lines_.erase(found);
    } else if (was_first && !waiters.empty()) {
      next = waiters.front();
    }
  }
  unsubscribe(name, seat, silent);
  if (next) next->turn(granted ? cue::held : cue::first);
}

void lines::tell_first(std::string_view name, cue what) {
  std::shared_ptr<lined_up> first;
  {
    const std::lock_guard hold(mutex_);
    const auto found = lines_.find(name);
    if (found == lines_.end() || found->second.waiters.empty()) return;
    first = found->second.waiters.front();
  }
  first->turn(what);
}

// ---- a release of this process ----

lines::parting lines::part(const std::string& name) {
  parting p;
  const std::lock_guard hold(mutex_);
  const auto line_of = lines_.find(name);
  const bool waits = line_of != lines_.end() && !line_of->second.waiters.empty();
  if (line_of != lines_.end()) {
    p.seat = line_of->second.seat;
    p.listens_at = line_of->second.subscribed;
    if (!waits) linger(name, line_of->second);
  }
  const auto found = rivalries_.find(name);
  if (found == rivalries_.end()) {
    p.keeps = waits;
    return p;
  }
  rivalry& r = found->second;
  const time_point now = clock::now();
  const bool others = now - r.seen < rivalry_limit;
  p.keeps = waits && (!others || ++r.streak <= streak_max);
  if (p.keeps) return p;
  r.streak = 0;
  if (others) r.called = now;
  if (!p.seat) p.seat = seat_;
  return p;
}

/// Under the mutex: whoever comes back at once need not subscribe again.
void lines::linger(const std::string& name, line& l) {
  l.parted = clock::now();
  cluster_->loop().at(l.parted + linger_limit, [self = weak_from_this(), name] {
    if (const auto s = self.lock()) s->leave_empty(name, clock::now() - linger_limit);
  });
}

/// False: somebody waits, or it was let go later than that.
bool lines::leave_empty(std::string_view name, time_point parted) {
  std::string of;
  line gone;
  {
    const std::lock_guard hold(mutex_);
    const auto found = lines_.find(name);
    if (found == lines_.end()) return true;
    if (!found->second.waiters.empty() || found->second.parted > parted) return false;
    of = found->first;
    gone = std::move(found->second);
    lines_.erase(found);
  }
  unsubscribe(of, gone.seat, gone.subscribed);
  return true;
}

void lines::parted(const std::string& name, const parting& how) {
  if (how.seat) tell_first(name, how.keeps ? cue::freed : cue::others);
}

void lines::others_wait(const std::string& name, node_index i, bool they_do) {
  if (!they_do && rivalries_count_ == 0) return;
  {
    const std::lock_guard hold(mutex_);
    if (they_do) {
      const time_point now = clock::now();
      rivalry& r = rivalries_[name];
      // The first time nobody knew it when the release was sent.
      if (r.seen == time_point{}) r.called = now;
      r.seen = now;
      sweep(now);
      rivalries_count_ = rivalries_.size();
      return;
    }
    // Only where they would listen the answer says that there are none.
    const auto found = rivalries_.find(name);
    if (found == rivalries_.end()) return;
    const auto where = posts(name);
    if (where.empty() || where.front() != i) return;
    rivalries_.erase(found);
    rivalries_count_ = rivalries_.size();
  }
  tell_first(name, cue::heard);
}

/// Under the mutex.
void lines::sweep(time_point now) {
  if (rivalries_.size() <= rivalries_max) return;
  std::erase_if(rivalries_, [&](const auto& r) { return now - r.second.seen >= rivalry_limit; });
  if (rivalries_.size() > rivalries_max) rivalries_.erase(rivalries_.begin());
}

// ---- messages of the nodes ----

void lines::heard(node_index i, const news& n) {
  if (!n.calls) return tell_first(n.name, cue::heard);
  // Fewer sit at the second post, and it would call another one than the first does.
  const auto where = posts(std::string(n.name));
  if (where.empty() || where.front() != i) return;
  if (!leave_empty(n.name, time_point::max())) return tell_first(n.name, cue::next);
  std::string bytes;
  commands::call_next(bytes, n.name, seat_);
  cluster_->ask(i, bytes, clock::now() + inquiry_limit, [](const io::redis_answer&) {});
}

/// Rendezvous hashing: clients may have the nodes in any order.
std::vector<node_index> lines::posts(const std::string& name) const {
  std::vector<std::pair<std::uint64_t, node_index>> all;
  const std::uint64_t start = core::fnv1a(name);
  for (node_index i = 0; i < cluster_->size(); ++i) {
    all.emplace_back(core::fnv1a(cluster_->addresses()[i], start), i);
  }
  std::ranges::sort(all);
  const auto& set = cluster_->set();
  const node_set up =
      cluster_->worth_asking(cluster_->now_voting()->voters, set.timeout_for(set.max_ttl));
  std::vector<node_index> chosen;
  for (const auto& [weight, i] : all) {
    if (up.has(i) && cluster_->may_subscribe(i)) chosen.push_back(i);
  }
  return chosen;
}

void lines::listen_for(const std::string& name) {
  const auto where = posts(name);
  std::optional<node_index> more;
  unsigned seat{};
  {
    const std::lock_guard hold(mutex_);
    const auto found = lines_.find(name);
    if (found == lines_.end() || found->second.subscribed.size() >= posts_per_name) return;
    line& l = found->second;
    const auto at = std::ranges::find_if(where, [&](auto i) { return !l.subscribed.has(i); });
    if (at == where.end()) return;
    more = *at;
    seat = l.seat;
    l.subscribed.add(*more);
  }
  subscribe(name, seat, *more);
}

void lines::subscribe(const std::string& name, unsigned seat, node_index i) {
  std::string bytes;
  commands::subscribe(bytes, free_channel(name));
  const time_point limit = clock::now() + inquiry_limit;
  cluster_->ask(
      i, bytes, limit, [](const io::redis_answer&) {}, true);
  bytes.clear();
  commands::subscribe(bytes, seat_channel(name, seat));
  cluster_->ask(
      i, bytes, limit,
      [self = weak_from_this(), name, i](const io::redis_answer& a) {
        const bool done = a.reply != nullptr && replies::subscribe(*a.reply) == fault::none;
        if (const auto l = self.lock()) l->subscribed(name, i, done);
      },
      true);
  ask_how_it_looks(name, i);
}

void lines::subscribed(const std::string& name, node_index i, bool done) {
  const std::lock_guard hold(mutex_);
  const auto found = lines_.find(name);
  if (found == lines_.end()) return;
  if (done && found->second.subscribed.has(i)) found->second.listening.add(i);
  if (!done) found->second.subscribed.remove(i);
}

void lines::ask_how_it_looks(const std::string& name, node_index i) {
  std::string bytes;
  commands::peek(bytes, name);
  cluster_->ask(i, bytes, clock::now() + inquiry_limit,
                [self = weak_from_this(), name](const io::redis_answer& a) {
                  const auto l = self.lock();
                  if (!l) return;
                  const auto taken = a.reply == nullptr ? std::nullopt : replies::peek(*a.reply);
                  l->tell_first(name, taken.value_or(false) ? cue::looks_taken : cue::looks_free);
                });
}

bool lines::hears(const std::string& name) const {
  const std::lock_guard hold(mutex_);
  const auto found = lines_.find(name);
  return found != lines_.end() && !found->second.listening.empty();
}

void lines::unsubscribe(const std::string& name, unsigned seat, node_set where) {
  for_each(where, [&](node_index i) {
    for (const std::string& channel : {free_channel(name), seat_channel(name, seat)}) {
      std::string bytes;
      commands::unsubscribe(bytes, channel);
      cluster_->ask(
          i, bytes, clock::now() + inquiry_limit, [](const io::redis_answer&) {}, true);
    }
  });
}

/// A new connection has no subscriptions.
void lines::connected(node_index i) {
  const std::lock_guard hold(mutex_);
  for (auto& [name, l] : lines_) {
    l.subscribed.remove(i);
    l.listening.remove(i);
  }
}

}  // namespace holdfast::engines::redlock
