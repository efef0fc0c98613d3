#include "io/redis/redis_connection.hpp"

#include "io/net/earliest_timer.hpp"
#include "io/net/peer_silence.hpp"
#include "io/net/stream.hpp"
#include "io/redis/redis_pauses.hpp"
#include "io/redis/redis_pipeline.hpp"
#include "io/redis/redis_push.hpp"
#include "io/redis/redis_standing.hpp"
#include "io/redis/redis_trouble.hpp"
#include "io/redis/redis_url.hpp"
#include "io/thread/background.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/random.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::io {

namespace {

using outcome = redis_answer::outcome;

constexpr std::size_t read_bytes = 16 * 1024;

}  // namespace

class redis_connection::state final : public stream::listener,
                                      public std::enable_shared_from_this<state> {
 public:
  state(const std::shared_ptr<loop>& l, redis_options o, std::weak_ptr<redis_listener> listener)
      : loop_(l),
        options_(std::move(o)),
        listener_(std::move(listener)),
        no_answer_(named(error(errc::unavailable, "no answer before the deadline"))),
        pauses_({.first = options_.pause_first,
                 .most = options_.pause_most,
                 .after_up_most = options_.pause_after_up_most,
                 .lasting = options_.lasting}),
        silence_(options_.silence_max),
        standing_(named(redis_trouble::not_yet(options_.connect_limit))),
        pipeline_(
            {.queued_bytes = options_.queued_bytes_max, .unanswered = options_.unanswered_max}),
        timer_(l) {}

  result<void> send(const loop& l, const command& c) {
    if (!standing_.is_up()) return standing_.why_down();
    switch (l.on_thread() ? pipeline_.send_here(c) : pipeline_.send_elsewhere(c)) {
      case redis_pipeline::taking::taken:
        break;
      case redis_pipeline::taking::closed:
        return standing_.why_down();
      case redis_pipeline::taking::full:
        return named(redis_trouble::too_much(pipeline_.unanswered(), pipeline_.backlog()));
    }
    timer_.no_later_than(c.deadline, *this, &state::on_timer);
    return {};
  }

  bool is_up() const noexcept { return standing_.is_up(); }
  std::optional<error> trouble() const { return standing_.trouble(); }

  counters count() const {
    return {.commands = pipeline_.sent(),
            .writes = io_count_->writes.load(std::memory_order_relaxed),
            .reads = io_count_->reads.load(std::memory_order_relaxed),
            .connects = standing_.ups(),
            .unanswered = pipeline_.unanswered(),
            .queued_bytes = pipeline_.backlog()};
  }

  /// False when it was closed before.
  bool refuse_new() {
    return standing_.close(
        named(error(errc::unavailable, "the connection was closed by its owner")));
  }

  void await_end(duration limit) { standing_.await_end(limit); }

  // ---- the loop's thread from here on ----

  void begin() {
    const auto l = loop_.lock();
    if (!l || standing_.is_closed()) return;
    reader_.emplace(options_.reply_limits);
    handshake_.emplace(redis_url::login_again(options_.login));
    current_ = stream::make(l,
                            {.address = options_.address,
                             .tls = options_.tls,
                             .silence_max = options_.silence_max,
                             .connect_limit = options_.connect_limit,
                             .attempt = attempt_++},
                            weak_from_this(), io_count_);
    current_->start(l);
  }

  void end_within(duration limit) {
    const auto l = loop_.lock();
    ends_when_idle_ = true;
    if (!l || !current_ || !standing_.was_up() || limit <= duration::zero()) return end();
    // Lives until then, though its owner may have let it go.
    l->at(clock::now() + limit, [self = shared_from_this()] { self->end(); });
    end_if_idle();
  }

  void opened() override {
    current_->append(handshake_->start());
    current_->flush();
  }

  void names_hang(const std::string& text) override {
    const error why = named(error(errc::unavailable, text));
    standing_.explain(why);
    if (const auto w = listener_.lock()) w->down(why);
  }

  void late() override {
    if (!current_ || (handshake_->done() && handshake_->selected())) return;
    lose(redis_trouble::not_ready(options_.connect_limit, options_.tls != nullptr));
  }

  void turn_ends() override { pipeline_.empty_outbox(); }

  std::span<char> space() override { return reader_->space(read_bytes); }

  void received(std::size_t count) override {
    const auto now = clock::now();
    silence_.heard();
    reader_->received(count);
    const auto w = listener_.lock();
    if (w) w->answers_begin();
    while (current_) {
      const wire::reply* r = reader_->next();
      if (r == nullptr) break;
      pipeline_.fetch_ahead();
      take(*r, now);
    }
    if (w) w->answers_end();
    if (current_ && reader_->failure() != nullptr) {
      const bool greeted = handshake_->done();
      lose(redis_trouble::no_resp(reader_->failure()->message, greeted, options_.tls != nullptr));
    }
    if (ends_when_idle_) end_if_idle();
  }

  void lost(const error& why) override {
    // Nobody was reached before it begins, and `why` says all.
    if (handshake_->done() || !handshake_->begun()) return lose(why);
    lose(redis_trouble::ended_early(why, options_.tls != nullptr));
  }

 private:
  error named(const error& e) const {
    return e.reworded("redis node " + options_.address.text() + ": " + e.message());
  }

  // ---- answers ----

  void take(const wire::reply& r, time_point now) {
    const bool is_push = r.is(wire::reply_kind::push);
    if (!handshake_->done()) {
      if (!is_push) take_greeting(r);
      return;
    }
    const bool answers_nothing =
        is_push ? !(confirms_subscription(r) && pipeline_.is_owed() && pipeline_.front().subscribes)
                : is_subscribed_ && is_message(r);
    if (answers_nothing) {
      if (const auto w = listener_.lock()) w->pushed(r);
      return;
    }
    if (!pipeline_.is_owed()) {
      return lose(error(errc::unavailable, "it sent an answer to no command; is it Redis?"));
    }
    const auto request = pipeline_.take_front();
    if (request.subscribes) is_subscribed_ = handshake_->facts().protocol == 2;
    if (request.expired) {
      request.receiver->answered_late(request.tag, &r, now);
    } else {
      request.receiver->answered(request.tag,
                                 {.what = outcome::reply, .reply = &r, .why = nullptr, .at = now});
    }
  }

  void take_greeting(const wire::reply& r) {
    auto next = handshake_->on_reply(r);
    if (!next) return lose(next.error());
    if (!next->empty()) {
      current_->append(*next);
      current_->flush();
    }
    if (!handshake_->done()) return;
    const auto w = listener_.lock();
    if (w) {
      if (auto accepted = w->check(handshake_->facts()); !accepted) return lose(accepted.error());
    }
    if (!handshake_->selected()) return lose(handshake_->selected().error());
    if (come_up() && w) w->up(handshake_->facts());
  }

  bool come_up() {
    pauses_.came_up(clock::now());
    is_subscribed_ = false;
    // First: who sees that it is up may send.
    pipeline_.open(current_);
    return standing_.come_up();
  }

  void on_timer() {
    const auto now = clock::now();
    const auto due = pipeline_.take_due(now);
    if (!due.empty()) silence_.late(now);
    for (const auto& r : due) tell(r, outcome::unknown, no_answer_, now);
    if (now >= silence_.over_at()) return lose(redis_trouble::silent(options_.silence_max));
    const time_point next = silence_.look_at(pipeline_.next_deadline(), now);
    timer_.no_later_than(std::min(next, silence_.over_at()), *this, &state::on_timer);
  }

  static void tell(const redis_request& r, outcome what, const error& why, time_point now) {
    r.receiver->answered(r.tag, {.what = what, .reply = nullptr, .why = &why, .at = now});
  }

  // ---- the end of a connection ----

  void lose(const error& plain) {
    if (!current_) return;
    const auto old = std::exchange(current_, nullptr);
    // First: from here on no thread's write can reach the peer.
    old->close();
    const error why = named(plain);
    standing_.go_down(why);
    silence_.heard();
    tell_all(old->handed(), why);
    const auto w = listener_.lock();
    if (w) w->down(why);
    if (ends_when_idle_) return end();
    begin_after_pause();
  }

  void tell_all(std::uint64_t handed, const error& why) {
    const auto now = clock::now();
    for (const auto& r : pipeline_.end(handed)) {
      if (r.expired) {
        r.receiver->answered_late(r.tag, nullptr, now);
      } else {
        tell(r, r.place < handed ? outcome::unknown : outcome::not_sent, why, now);
      }
    }
  }

  void begin_after_pause() {
    const auto l = loop_.lock();
    if (!l || standing_.is_closed()) return;
    const auto now = clock::now();
    l->at(now + pauses_.next(now, random_bits()), [self = weak_from_this()] {
      if (const auto s = self.lock()) s->begin();
    });
  }

  void end_if_idle() {
    if (current_ && pipeline_.is_idle()) end();
  }

  void end() {
    ends_when_idle_ = false;
    const auto l = loop_.lock();
    const auto old = std::exchange(current_, nullptr);
    if (!old) return standing_.end();
    old->close();
    tell_all(old->handed(), standing_.why_down());
    if (!l) return standing_.end();
    // Its read fails behind this, and only then is its descriptor free to be closed.
    l->post([self = shared_from_this()] { self->standing_.end(); });
  }

  const std::weak_ptr<loop> loop_;
  const redis_options options_;
  const std::weak_ptr<redis_listener> listener_;
  const error no_answer_;
  const std::shared_ptr<stream::counters> io_count_{std::make_shared<stream::counters>()};

  // The loop's thread only.
  redis_pauses pauses_;
  peer_silence silence_;
  unsigned attempt_{0};
  std::shared_ptr<stream> current_;
  std::optional<wire::resp_reader> reader_;
  std::optional<redis_handshake> handshake_;
  bool is_subscribed_{false};
  bool ends_when_idle_{false};

  redis_standing standing_;
  redis_pipeline pipeline_;
  earliest_timer timer_;
};

std::unique_ptr<redis_connection> redis_connection::start(std::shared_ptr<loop> l,
                                                          redis_options options,
                                                          std::weak_ptr<redis_listener> listener) {
  auto s = std::make_shared<state>(l, std::move(options), std::move(listener));
  l->post([s] { s->begin(); });
  return std::unique_ptr<redis_connection>(new redis_connection(std::move(l), std::move(s)));
}

redis_connection::redis_connection(std::shared_ptr<loop> l, std::shared_ptr<state> s) noexcept
    : loop_(std::move(l)), state_(std::move(s)) {}

redis_connection::~redis_connection() { close(duration::zero()); }

result<void> redis_connection::send(const command& c) noexcept { return state_->send(*loop_, c); }
bool redis_connection::is_up() const noexcept { return state_->is_up(); }
std::optional<error> redis_connection::trouble() const { return state_->trouble(); }
redis_connection::counters redis_connection::count() const { return state_->count(); }

void redis_connection::close(duration limit) {
  if (state_->refuse_new()) {
    loop_->post([s = state_, limit] { s->end_within(limit); });
  }
  if (limit > duration::zero() && !on_library_thread()) state_->await_end(limit);
}

}  // namespace holdfast::io
