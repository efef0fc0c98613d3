#include "engines/redlock/releasing.hpp"

#include "core/assert.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/replies.hpp"
#include "io/net/one_write.hpp"
#include "io/thread/random.hpp"
#include "io/thread/recycled.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using core::redlock::for_each;
using core::redlock::owed_release;

/// The number of a connection that is not known: equal to no other.
constexpr auto unknown_connection = std::numeric_limits<std::uint64_t>::max();

/// Who releases waits no less than this, unless a majority hangs already: one that is only busy has
/// done it soon, and who waits for the lock may have it long before.
constexpr duration patience_min = std::chrono::milliseconds{250};

owed_release make(const placed_key& key, duration timeout) {
  owed_release m({.ttl = key.ttl, .timeout = std::min(timeout, key.ttl), .seed = io::random_bits()},
                 key.asked, key.last_sent);
  for_each(key.asked, [&](node_index i) {
    m.trace_of(i, {.connection = key.connections[i],
                   .settled_before = key.answered.has(i),
                   .late_until = key.twice.has(i) ? key.late_until : time_point::min()});
  });
  return m;
}

core::leave_reply reply_of(bool freed, const cluster& c) {
  core::leave_reply r;
  r.what = freed ? core::status::ok : core::status::unknown;
  if (!freed) {
    const std::string why = c.silent();
    r.text =
        "too few nodes confirmed the release in time; only a process that goes on repeats it, "
        "until the lock's ttl is over" +
        (why.empty() ? "" : "; " + why);
  }
  return r;
}

/// Who is called asks at once: the release is ahead of it at a majority, the node that calls among
/// them, also when this thread is interrupted between two of them.
node_set before_the_call(node_set which, node_set calls_at, std::size_t majority) {
  node_set first{};
  if ((which & calls_at).empty()) return first;
  for_each(which - calls_at, [&](node_index i) {
    if (first.size() + 1 < majority) first.add(i);
  });
  return first;
}

}  // namespace

releasing::releasing(std::shared_ptr<cluster> c, placed_key key, duration timeout,
                     std::shared_ptr<waiters> w, const waiters::parting& how)
    : cluster_(std::move(c)),
      mutex_(cluster_->loop()),
      machine_(make(key, cluster_->set().timeout_for(key.ttl))),
      waiters_(std::move(w)),
      how_(how),
      key_(std::move(key)),
      timeout_(timeout) {}

void releasing::give_back(const std::shared_ptr<cluster>& c, const std::shared_ptr<waiters>& w,
                          placed_key key, duration timeout, settled then) {
  const std::string name = key.name;
  const auto how = w->part(name);
  if (!how.seat && c->later().sends_later()) {
    const auto later = io::make_recycled<releasing>(c, std::move(key), timeout, w, how);
    return later->start_later(std::move(then));
  }
  const io::one_write together;
  io::make_recycled<releasing>(c, std::move(key), timeout, w, how)->start(std::move(then));
  // What the next one here sends is behind the release on every connection: it need not wait for
  // the answers.
  w->parted(name, how);
}

node_set releasing::up() const {
  node_set s;
  for_each(key_.asked, [&](node_index i) {
    if (cluster_->is_connected(i)) s.add(i);
  });
  return s;
}

void releasing::run() {
  bool starts = false;
  settled done;
  {
    const io::held_mutex hold(mutex_);
    starts = std::exchange(starts_later_, false);
    done = starts ? std::exchange(then_, {}) : take_settled();
  }
  if (starts) return start(std::move(done));
  if (done) tell(std::move(done), true);
}

void releasing::start(settled then) {
  settled done;
  {
    const io::held_mutex hold(mutex_);
    const time_point now = clock::now();
    const bool is_worth_it = cluster_->majority_answers();
    patience_ = now + (is_worth_it ? std::max(timeout_, patience_min) : timeout_);
    then_ = std::move(then);
    step s = machine_.start(up(), now);
    send(s, now);
    conclude(s);
    done = take_settled();
  }
  if (done) done(reply_of(true, *cluster_));
}

void releasing::start_later(settled then) {
  {
    const io::held_mutex hold(mutex_);
    starts_later_ = true;
    then_ = std::move(then);
  }
  cluster_->later().add(stage::send, shared_from_this());
}

/// `bytes` has the release of another node, or nothing.
void releasing::write_release(std::string& bytes, node_index i) const {
  const bool plain = !how_.keeps && !how_.seat;
  if (plain && !bytes.empty()) return;
  bytes.clear();
  const unsigned database = cluster_->set().login.database;
  if (plain) return commands::release(bytes, key_.name, key_.value, database);
  commands::release(bytes, key_.name, key_.value,
                    {.seat = how_.seat.value_or(0),
                     .own = how_.listens_at.has(i) && connections_[i] == no_connection,
                     .keep = how_.keeps,
                     .count = how_.counts,
                     .database = database});
}

void releasing::send(step& s, time_point now) {
  while (!s.send.empty()) {
    const node_set which = std::exchange(s.send, {});
    std::string bytes;
    io::redis_connection::command c;
    c.deadline = now + timeout_;
    c.receiver = shared_from_this();
    c.may_fill = true;
    const auto put = [&](node_index i) {
      mutex_.held_by_caller();
      write_release(bytes, i);
      c.bytes = bytes;
      c.tag = i;
      const auto sent = cluster_->send(i, c);
      if (sent) {
        connections_[i] = *sent == no_connection ? unknown_connection : *sent;
        under_way_.add(i);
        unsent_.remove(i);
        return;
      }
      // A connection that is up takes nothing more for a while.
      const bool up = cluster_->is_connected(i);
      if (up) unsent_.add(i);
      const step more = up ? machine_.failed(i, now) : machine_.disconnected(i, now);
      s.finished = s.finished || more.finished;
      s.wake = more.wake;
    };
    const node_set first = before_the_call(which, how_.calls_at, cluster_->majority());
    for_each(first, put);
    for_each(which & how_.calls_at, put);
    for_each(which - first - how_.calls_at, put);
  }
}

void releasing::conclude(step s) {
  if (!s.send.empty()) send(s, clock::now());
  over_ = over_ || s.finished || (!then_ && cluster_->is_closed());
  if (over_) return;
  // Answers, or the end of waiting for them, come by themselves; for all else somebody has to wake.
  const node_set idle = machine_.owed() - under_way_;
  if (idle.empty()) return;
  const bool away = !(idle - (up() & machine_.up())).empty();
  if (!std::exchange(listens_, true)) cluster_->listen(weak_from_this());
  // Of those that came up before that nobody here has heard.
  const node_set came = (idle & up()) - machine_.up();
  if (!came.empty()) return conclude(machine_.connected(came.first(), clock::now()));
  const time_point next = then_ ? std::min(s.wake, patience_) : s.wake;
  if (away || next < machine_.until() || then_) wake_at(next);
}

bool releasing::is_free() const {
  return cluster_->size() - machine_.owed().size() >= cluster_->majority();
}

/// Somebody is to hear that it is free.
bool releasing::is_settled() const { return then_ && (over_ || is_free()); }

/// Whom to answer, when the mutex is free.
releasing::settled releasing::take_settled() {
  if (!is_settled()) return {};
  return std::exchange(then_, {});
}

void releasing::tell(settled done, bool freed) const {
  auto reply = reply_of(freed, *cluster_);
  if (!how_.keeps) return done(std::move(reply));
  // Behind the answers to the next holder, which came with this one: it is who waits for them.
  cluster_->loop().post([done = std::move(done), r = std::move(reply)] { done(r); });
}

void releasing::note_others(node_index i, const released& r) const {
  if (!r.deleted || !r.counted || !waiters_) return;
  if (r.others) return waiters_->others_wait(key_.name);
  // Without a queue there is nobody whom that concerns.
  if (how_.seat) waiters_->nobody_waits(key_.name, i);
}

void releasing::answered(std::uint64_t tag, const io::redis_answer& a) {
  const auto i = static_cast<node_index>(tag);
  HOLDFAST_ASSERT(key_.asked.has(i));
  settled done;
  bool freed = true;
  bool waits = false;
  const reading<released> got = a.reply == nullptr ? fault::silent : replies::release(*a.reply);
  if (a.reply != nullptr) {
    cluster_->answered(i);
    cluster_->heed(i, cluster::duty::release, got.why(), a.reply);
  }
  if (got) note_others(i, *got);
  if (a.what == io::redis_answer::outcome::unknown) cluster_->missed(i, a.at);
  const bool forgot = got.why() == fault::script_missing;
  if (forgot) cluster_->load_again(i);
  {
    const io::held_mutex hold(mutex_);
    // It is still on its way, behind the acquire: a second one would only cost memory.
    const bool queued = a.what == io::redis_answer::outcome::unknown &&
                        cluster_->connection_of(i) == connections_[i];
    if (forgot && !loaded_again_.has(i)) {
      send_again(i, a.at);
    } else if (!queued) {
      settle(i, got, a.at);
    }
    waits = is_settled() && cluster_->later().gathers();
    if (!waits) done = take_settled();
    if (!waits && !done && then_ && a.at >= patience_) {
      done = std::exchange(then_, {});
      freed = false;
    }
    // A late answer comes by itself; that there is none does not.
    if (then_ && !waits && a.what == io::redis_answer::outcome::unknown) wake_at(patience_);
  }
  if (waits) cluster_->later().add(stage::lock_is_free, shared_from_this());
  if (done) tell(std::move(done), freed);
}

/// What a node said, or that it said nothing and never will.
void releasing::settle(node_index i, const reading<released>& got, time_point at) {
  under_way_.remove(i);
  conclude(got ? machine_.answered(i, got->deleted, connections_[i], at) : machine_.failed(i, at));
}

/// Certainly not run, and the script is on its way ahead of the repetition.
void releasing::send_again(node_index i, time_point at) {
  loaded_again_.add(i);
  under_way_.remove(i);
  conclude(machine_.refused(i, at));
}

void releasing::answered_late(std::uint64_t tag, const wire::reply* r, time_point at) {
  io::redis_answer a;
  a.what = r == nullptr ? io::redis_answer::outcome::not_sent : io::redis_answer::outcome::reply;
  a.reply = r;
  a.at = at;
  answered(tag, a);
}

void releasing::connected(node_index i) {
  settled done;
  {
    const io::held_mutex hold(mutex_);
    if (over_ || !key_.asked.has(i)) return;
    conclude(machine_.connected(i, clock::now()));
    done = take_settled();
  }
  if (done) done(reply_of(true, *cluster_));
}

void releasing::disconnected(node_index i) {
  settled done;
  {
    const io::held_mutex hold(mutex_);
    if (over_ || !key_.asked.has(i)) return;
    conclude(machine_.disconnected(i, clock::now()));
    done = take_settled();
  }
  if (done) done(reply_of(true, *cluster_));
}

bool releasing::send_unsent() {
  const io::held_mutex hold(mutex_);
  const auto left = [this] {
    mutex_.held_by_caller();
    return over_ ? node_set{} : unsent_ & machine_.owed() & machine_.up() & up();
  };
  for_each(left(), [this](node_index i) {
    mutex_.held_by_caller();
    conclude(machine_.refused(i, clock::now()));
  });
  return !left().empty();
}

/// What waits for a time owns the loop on which it waits: nothing is sent any more, and it would
/// stay for as long as it owes.
void releasing::closed() {
  std::uint64_t timer{};
  {
    const io::held_mutex hold(mutex_);
    if (then_) return;
    over_ = true;
    timer = std::exchange(timer_, 0);
  }
  cluster_->loop().cancel(timer);
}

void releasing::wake_at(time_point when) {
  if (when >= timer_at_) return;
  timer_at_ = when;
  cluster_->loop().cancel(timer_);
  timer_ = cluster_->loop().at(when, [self = shared_from_this()] {
    settled done;
    bool freed = true;
    {
      const io::held_mutex hold(self->mutex_);
      const time_point now = clock::now();
      self->timer_at_ = time_point::max();
      self->timer_ = 0;
      if (self->over_) return;
      self->conclude(self->machine_.tick(now));
      done = self->take_settled();
      if (!done && self->then_ && now >= self->patience_) {
        done = std::exchange(self->then_, {});
        freed = false;
      }
      // Where all that is owed is under way again, nothing else would wake at the end of it.
      if (self->then_) self->wake_at(self->patience_);
    }
    if (done) done(reply_of(freed, *self->cluster_));
  });
}

}  // namespace holdfast::engines::redlock
