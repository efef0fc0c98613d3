#include "engines/redis/master.hpp"

#include "engines/redis/commands.hpp"
#include "engines/redis/replies.hpp"
#include "io/redis/redis_facts.hpp"
#include "io/thread/latch.hpp"

#include <algorithm>
#include <utility>

/// How a script is sent, and what its answer is worth; master_admission.cpp judges whether the
/// server may be used. An answer counts only on the connection on which the life of the data was
/// read.

namespace holdfast::engines::redis {

namespace {

using namespace std::chrono_literals;
using core::status;

/// How long an operation waits for the connection and the look at the server.
constexpr duration patience = 2500ms;

/// Gives the one answer of one command to a function.
class one_answer final : public io::redis_receiver {
 public:
  explicit one_answer(std::function<void(const io::redis_answer&)> then) : then_(std::move(then)) {}
  void answered(std::uint64_t, const io::redis_answer& a) override { then_(a); }

 private:
  std::function<void(const io::redis_answer&)> then_;
};

}  // namespace

/// One script on its way.
struct master::job {
  maker make{};
  std::uint64_t connection{};  ///< On which the life was read that it was made for.
  bool awaits_replicas{};
  bool may_fill{};
  bool loaded_again{};
  on_answer then{};
  std::optional<wire::reply> kept{};  ///< Until the replicas have it, too.
  std::atomic<bool> half_done{};      ///< One of the two answers has come, or never will.
};

status master::status_of(errc code) noexcept {
  switch (code) {
    case errc::invalid_argument:
      return status::invalid;
    case errc::unsupported:
      return status::unsupported;
    default:
      return status::unavailable;
  }
}

void master::ask(const std::string& bytes, on_reply then) {
  io::redis_connection::command c;
  c.bytes = bytes;
  c.deadline = clock::now() + settings_.node_timeout;
  c.receiver = std::make_shared<one_answer>([then](const io::redis_answer& a) { then(a.reply); });
  c.may_fill = true;
  if (!connection_->send(c)) then(nullptr);
}

core::reply master::no_answer(const io::redis_answer& a) const {
  const bool sent = a.what == io::redis_answer::outcome::unknown;
  return {sent ? status::unknown : status::unavailable, a.why->message()};
}

core::reply master::not_asked() const {
  return {status::unavailable,
          "redis node " + settings_.node.text() +
              ": what was sent before this had no answer, so this was not sent"};
}

void master::run(maker make, copies its, room in, on_answer then) {
  const auto j = std::make_shared<job>();
  j->make = std::move(make);
  j->awaits_replicas =
      its == copies::awaited && settings_.with_replicas == settings::replication::awaited;
  j->may_fill = in == room::all;
  j->then = std::move(then);
  when_judged([self = shared_from_this(), j] { self->send(j); });
}

void master::send(const std::shared_ptr<job>& j) {
  answer no;
  std::string nonce;
  {
    const io::held_mutex hold(mutex_);
    nonce = nonce_;
    no.failure = why_;
    j->connection = connects_;
  }
  if (nonce.empty()) return j->then(no);
  const std::string bytes = j->make(nonce);
  io::redis_connection::command c;
  c.bytes = bytes;
  c.deadline = clock::now() + settings_.node_timeout;
  c.receiver = std::make_shared<one_answer>(
      [self = shared_from_this(), j](const io::redis_answer& a) { self->finish(j, a); });
  c.may_fill = j->may_fill;
  const auto sent = connection_->send(c);
  if (!sent) {
    no.failure = {status::unavailable, sent.error().message()};
    return j->then(no);
  }
  if (j->awaits_replicas) await_replicas(j);
}

/// WAIT follows its script on the same connection, so that both are one round trip.
void master::await_replicas(const std::shared_ptr<job>& j) {
  const std::string bytes = commands::await_replicas(settings_.replicas, settings_.node_timeout);
  io::redis_connection::command c;
  c.bytes = bytes;
  // The server answers WAIT within one, whatever the replicas do.
  c.deadline = clock::now() + 2 * settings_.node_timeout;
  c.receiver =
      std::make_shared<one_answer>([self = shared_from_this(), j](const io::redis_answer& a) {
        if (!j->half_done.exchange(true)) return;
        // On a connection that has written nothing, WAIT says at once that all have it.
        const bool tells = a.reply != nullptr && self->is_connection(j->connection);
        self->copied(*j, tells ? a.reply->integer : 0);
      });
  c.may_fill = j->may_fill;
  if (!connection_->send(c)) c.receiver->answered(0, {});
}

void master::copied(const job& j, std::int64_t have) const {
  if (have >= settings_.replicas) return j.then({.reply = &*j.kept, .failure = {}});
  answer few;
  few.failure = {status::unknown,
                 "redis node " + settings_.node.text() + ": only " + std::to_string(have) + " of " +
                     std::to_string(settings_.replicas) + " replicas have it in time"};
  j.then(few);
}

/// The script's answer. With replicas to wait for, that of WAIT is the other half: whichever comes
/// second gives the outcome. A refusal is the outcome already, and leaves `half_done` as it is, so
/// that WAIT, which follows all the same, is taken for the first half and says nothing.
void master::finish(const std::shared_ptr<job>& j, const io::redis_answer& a) {
  if (a.reply == nullptr) {
    answer no;
    no.failure = no_answer(a);
    return j->then(no);
  }
  if (replies::is_missing_script(*a.reply) && !j->loaded_again) {
    // Certainly not run: somebody flushed the scripts. The life that it names is still compared.
    load_scripts();
    const auto again = std::make_shared<job>();
    again->make = j->make;
    again->awaits_replicas = j->awaits_replicas;
    again->may_fill = j->may_fill;
    again->loaded_again = true;
    again->then = j->then;
    return send(again);
  }
  if (replies::is_not_admitted(*a.reply)) inspect();
  const bool done = !a.reply->is(wire::reply_kind::error);
  if (done && !is_connection(j->connection)) {
    answer no;
    no.failure = {status::unknown, "redis node " + settings_.node.text() +
                                       ": its connection was replaced before it was sent"};
    return j->then(no);
  }
  if (!j->awaits_replicas || !done) {
    return j->then({.reply = a.reply, .failure = {}});
  }
  j->kept = *a.reply;
  // WAIT was there before: it could not be sent.
  if (j->half_done.exchange(true)) copied(*j, 0);
}

/// The one that is up. Behind another one there may be a server with a copy of the data, which may
/// lack what was granted last, and which was not judged yet.
bool master::is_connection(std::uint64_t number) const {
  const io::held_mutex hold(mutex_);
  return number == connects_;
}

void master::sweep() {
  if (sweeping_.exchange(true)) return;
  // What it removes is dead: nobody was promised that it goes.
  run([](std::string_view nonce) { return commands::sweep_more(nonce); }, copies::not_awaited,
      room::half,
      [self = shared_from_this()](const answer& a) {
        self->sweeping_ = false;
        const auto left = a.reply != nullptr ? replies::sweep_more(*a.reply) : std::nullopt;
        if (left.value_or(false)) self->sweep();
      });
}

void master::when_judged(std::function<void()> then) {
  {
    const io::held_mutex hold(mutex_);
    if (!judged_ && !closed_) {
      const time_point limit = clock::now() + patience;
      waiters_.push_back({limit, std::move(then)});
      loop_->at(limit, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->tell_waiters(false);
      });
      return;
    }
  }
  then();
}

void master::tell_waiters(bool all) {
  std::vector<pending> due;
  {
    const io::held_mutex hold(mutex_);
    const time_point now = clock::now();
    const auto first = std::stable_partition(
        waiters_.begin(), waiters_.end(), [&](const pending& p) { return !all && p.limit > now; });
    due.assign(std::make_move_iterator(first), std::make_move_iterator(waiters_.end()));
    waiters_.erase(first, waiters_.end());
  }
  for (const auto& p : due) p.then();
}

std::string master::trouble() const {
  const io::held_mutex hold(mutex_);
  return nonce_.empty() ? why_.text : std::string();
}

master::picture master::look() {
  const auto judged = std::make_shared<io::latch>();
  when_judged([judged] { judged->open(); });
  judged->wait();
  const io::held_mutex hold(mutex_);
  picture p;
  p.server = server_;
  p.trouble = nonce_.empty() ? why_.text : std::string();
  p.durable = durable_;
  p.reload_objection = reload_objection_;
  p.replicas = replicas_;
  p.max_ttl = max_ttl_;
  return p;
}

}  // namespace holdfast::engines::redis
