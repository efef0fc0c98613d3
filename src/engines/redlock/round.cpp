#include "engines/redlock/round.hpp"

#include "core/hexadecimal.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/replies.hpp"
#include "io/thread/prefetch.hpp"
#include "io/thread/random.hpp"

#include <holdfast/lock_name.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using core::redlock::attempt;
using core::redlock::fault;
using core::redlock::for_each;
using core::redlock::node_vote;
using core::redlock::vote;

enum : std::uint64_t { acquire_tag = 0, raise_tag = 1 };

constexpr unsigned node_bits = 8;

std::uint64_t tag_of(std::uint64_t kind, node_index i, token raised = {}) noexcept {
  return raised.value << (node_bits + 1) | kind << node_bits | i;
}

node_index node_of(std::uint64_t tag) noexcept {
  return static_cast<node_index>(tag & ((1U << node_bits) - 1));
}

bool is_raise(std::uint64_t tag) noexcept { return (tag >> node_bits & 1U) == raise_tag; }

token raised_to(std::uint64_t tag) noexcept { return token{tag >> (node_bits + 1)}; }

/// 20 bytes from the kernel, and with tokens whose they are.
std::string fresh_value(const session_id& session, bool tokens) {
  using core::append_hexadecimal;
  std::string value;
  value.reserve(tokens ? value_bytes : plain_value_bytes);
  append_hexadecimal(value, io::random_bits(), 16);
  append_hexadecimal(value, io::random_bits(), 16);
  append_hexadecimal(value, io::random_bits() >> 32U, 8);
  if (tokens) value.append(".").append(session.str());
  return value;
}

}  // namespace

round::round(std::shared_ptr<cluster> c, order o, std::shared_ptr<listener> l)
    : cluster_(std::move(c)),
      mutex_(cluster_->loop()),
      order_(std::move(o)),
      value_(fresh_value(order_.session, cluster_->set().tokens)),
      listener_(std::move(l)) {}

/// Its listener has waited since it was sent.
void round::fetch() const noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(listener_.get());
  io::prefetch(at - io::cache_line_bytes, 5 * io::cache_line_bytes);
}

void round::start() {
  stages& later = cluster_->later();
  if (later.sends_later()) {
    {
      const io::held_mutex hold(mutex_);
      asks_later_ = true;
    }
    return later.add(stage::send, shared_from_this());
  }
  if (!cluster_->loop().on_thread() && later.holds_back()) {
    return cluster_->loop().post([self = shared_from_this()] { self->start(); });
  }
  ask();
}

void round::ask() {
  std::optional<round_outcome> ended;
  {
    const io::held_mutex hold(mutex_);
    ballots_ = cluster_->now_voting();
    if (!cancelled_) asked_ = cluster_->worth_asking(ballots_->voters, order_.timeout);
    const time_point now = clock::now();
    deadline_ = now + order_.timeout;
    attempt_.emplace(attempt::config{.nodes = cluster_->size(),
                                     .ttl = order_.ttl,
                                     .timeout = order_.timeout,
                                     .tokens = cluster_->set().tokens},
                     asked_, now);
    step s = attempt_->start(now);
    if (s.decided) {
      s.release = node_set{};  // Nobody is asked.
    } else {
      ask_all(s);
    }
    conclude(s, now, ended);
  }
  if (ended) finish(*std::move(ended));
}

void round::ask_all(step& s) {
  const bool tokens = cluster_->set().tokens;
  std::string bytes;
  io::redis_connection::command c;
  c.deadline = deadline_;
  c.receiver = shared_from_this();
  if (!tokens) commands::set_plain(bytes, order_.name, value_, order_.ttl);
  for_each(asked_, [&](node_index i) {
    mutex_.held_by_caller();
    if (tokens) {
      bytes.clear();
      commands::acquire(bytes, order_.name, value_, order_.session, order_.ttl, order_.hint,
                        ballots_->nonces[i], ballots_->epoch);
    }
    c.bytes = bytes;
    c.tag = tag_of(acquire_tag, i);
    const auto sent = cluster_->send(i, c);
    if (!sent) {
      answered_.add(i);
      s.add(attempt_->answered(i, node_vote::of(fault::unreachable), clock::now()));
      return;
    }
    asked_any_ = true;
    attempt_->carried(i, ballots_->connections[i], *sent);
  });
}

void round::raise(step& s) {
  const token to = attempt_->chosen();
  const node_set which = std::exchange(s.raise, {});
  std::string bytes;
  raise_deadline_ = clock::now() + order_.timeout;
  io::redis_connection::command c;
  c.deadline = raise_deadline_;
  c.receiver = shared_from_this();
  for_each(which, [&](node_index i) {
    mutex_.held_by_caller();
    bytes.clear();
    commands::raise(bytes, order_.name, value_, to, ballots_->nonces[i], ballots_->epoch);
    c.bytes = bytes;
    c.tag = tag_of(raise_tag, i, to);
    const auto sent = cluster_->send(i, c);
    const time_point now = clock::now();
    s.add(sent ? attempt_->raise_carried(i, to, *sent, now)
               : attempt_->raised(i, to, node_vote::of(fault::unreachable), now));
  });
}

node_vote round::read(bool raises, node_index i, const io::redis_answer& a) {
  using outcome = io::redis_answer::outcome;
  if (a.what == outcome::not_sent) return node_vote::of(fault::unreachable);
  if (a.what == outcome::unknown) {
    const time_point due = raises ? raise_deadline_ : deadline_;
    return node_vote::of(a.at >= due ? fault::silent : fault::connection_lost);
  }
  if (raises) return replies::raise(*a.reply);
  if (!cluster_->set().tokens) return attempt_->counted(i, replies::set_plain(*a.reply));
  const auto got = replies::acquire(*a.reply, order_.hint);
  const bool votes = !got.time || cluster_->on_time(i, *got.time, attempt_->sent(), a.at);
  if (!votes && got.vote.what == vote::granted) return node_vote::of(fault::not_admitted);
  return attempt_->counted(i, got.vote);
}

void round::note_refusal(node_index i, const node_vote& v, const io::redis_answer& a) {
  if (v.why == fault::denied && a.reply != nullptr) denial_ = replies::denial_text(*a.reply);
  if (!replies::text_says_more(v.why) || a.reply == nullptr || !refusal_.empty()) return;
  refusal_ = cluster_->addresses()[i] + " said: " + replies::error_text(*a.reply);
}

/// While the loop reads what has come from several nodes, the end of a round waits for the stage in
/// which rounds end: all answers of that moment are noted first, those of other rounds too, and
/// what follows from them goes out together. The decision itself is made here and stays; only what
/// is done about it comes later, from run().
void round::answered(std::uint64_t tag, const io::redis_answer& a) {
  const node_index i = node_of(tag);
  const bool raises = is_raise(tag);
  std::optional<round_outcome> ended;
  bool late = false;
  const bool gathers = cluster_->later().gathers();
  bool waits = false;
  node_vote v;
  if (a.what == io::redis_answer::outcome::reply) cluster_->answered(i);
  if (a.what == io::redis_answer::outcome::unknown) cluster_->missed(i, a.at);
  {
    const io::held_mutex hold(mutex_);
    v = read(raises, i, a);
    note_refusal(i, v, a);
    step s;
    if (raises) {
      s.add(attempt_->raised(i, raised_to(tag), v, a.at));
    } else {
      if (a.what != io::redis_answer::outcome::unknown) answered_.add(i);
      if (v.what == vote::taken) taken_.add(i);
      newest_token_ = std::max(newest_token_, v.counter);
      late = attempt_->current() == attempt::state::held && v.what == vote::granted;
      s.add(attempt_->answered(i, v, a.at));
    }
    if (a.what == io::redis_answer::outcome::unknown) s.add(attempt_->tick(a.at));
    waits = s.decided && gathers;
    if (waits) {
      decided_at_ = a.at;
      owes_ = s.release;
    } else if (s.decided || !s.raise.empty()) {
      conclude(s, a.at, ended);
    }
  }
  if (waits) cluster_->later().add(stage::round_ended, shared_from_this());
  if (core::redlock::action_on(v.why).look_again && a.what == io::redis_answer::outcome::reply) {
    cluster_->doubted(i);
  }
  if (late) listener_->late(i);
  if (ended) finish(*std::move(ended));
}

void round::run() {
  bool asks = false;
  std::optional<round_outcome> ended;
  {
    const io::held_mutex hold(mutex_);
    asks = std::exchange(asks_later_, false);
    if (!asks) {
      step s;
      s.decided = true;
      s.release = owes_;
      conclude(s, decided_at_, ended);
    }
  }
  if (asks) return ask();
  finish(*std::move(ended));
}

void round::answered_late(std::uint64_t tag, const wire::reply* r, time_point at) {
  if (r == nullptr) return;
  const node_index i = node_of(tag);
  cluster_->answered(i);
  if (is_raise(tag)) return;
  io::redis_answer a;
  a.what = io::redis_answer::outcome::reply;
  a.reply = r;
  a.at = at;
  bool late = false;
  {
    const io::held_mutex hold(mutex_);
    answered_.add(i);
    const node_vote v = read(false, i, a);
    late = attempt_->current() == attempt::state::held && v.what == vote::granted &&
           at < attempt_->until();
  }
  if (late) listener_->late(i);
}

void round::cancel(std::function<void()> then) {
  if (mutex_.keeps_out()) {
    return cluster_->loop().post(
        [self = shared_from_this(), then = std::move(then)] { self->cancel(then); });
  }
  std::optional<round_outcome> ended;
  {
    const io::held_mutex hold(mutex_);
    cancelled_ = true;
    if (attempt_) conclude(attempt_->cancel(), clock::now(), ended);
  }
  if (ended) finish(*std::move(ended));
  then();
}

/// Sends what the machine wants, and says how it ended if it did.
///
/// A raise that cannot be sent is answered at once, and so is one that another connection than its
/// acquire's carries. Either may have the machine choose a larger token and want other raises, or
/// end it: hence again, until it wants nothing more.
void round::conclude(const step& first, time_point at, std::optional<round_outcome>& ended) {
  step s = first;
  while (!s.decided && !s.raise.empty()) raise(s);
  if (!s.decided) return;
  round_outcome& r = ended.emplace();
  r.held = attempt_->current() == attempt::state::held;
  r.granted = attempt_->chosen();
  r.until = attempt_->until();
  r.there = attempt_->granted();
  if (asked_any_) r.took = at - attempt_->sent();
  r.holder_left = attempt_->holder_left();
  r.newest_token = std::max(newest_token_, r.granted.value);
  if (!r.held) note_failure(r);
  const node_set where = r.held ? asked_ - taken_ : s.release;
  if (where.empty()) return;
  r.key = placed_key{.name = std::move(order_.name),
                     .value = std::move(value_),
                     .ttl = order_.ttl,
                     .last_sent = attempt_->sent(),
                     .asked = where,
                     .answered = answered_,
                     .connections = attempt_->carriers()};
}

void round::note_failure(round_outcome& r) const {
  std::size_t denials = 0;
  std::size_t too_long = 0;
  for (node_index i = 0; i < cluster_->size(); ++i) {
    const fault f = attempt_->vote_of(i).why;
    denials += f == fault::denied ? 1U : 0U;
    too_long += f == fault::ttl_too_long ? 1U : 0U;
    r.forgot = r.forgot || f == fault::script_missing;
    r.outdated = r.outdated || f == fault::epoch_moved;
    if (f == fault::session_missing) r.unrecorded.add(i);
  }
  const std::size_t blocking = core::redlock::deny_count(cluster_->size());
  r.denied = denials >= blocking;
  r.refused = too_long >= blocking;
  r.endless = attempt_->meets_endless();
  const std::string of = "lock \"" + lock_name(order_.name).printable() + "\"";
  r.why = attempt_->failure(of, cluster_->addresses());
  // It becomes the reason of the whole session, whichever lock was asked for.
  if (r.denied) r.why = error(errc::denied, denial_);
  if (!refusal_.empty()) r.why = r.why.reworded(r.why.message() + "; " + refusal_);
}

/// Too few nodes voted when it began.
bool round::met_too_few() {
  const io::held_mutex hold(mutex_);
  return ballots_->voters.size() < cluster_->majority();
}

void round::finish(round_outcome r) {
  if (!r.held && met_too_few()) {
    r.outdated = true;
    if (auto v = cluster_->verdict(); !v) r.why = v.error();
  }
  listener_->round_ended(std::move(r));
}

}  // namespace holdfast::engines::redlock
