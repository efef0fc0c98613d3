#include "io/redis/redis_connection.hpp"

#include "core/backoff.hpp"
#include "io/net/stream.hpp"
#include "io/redis/command_counts.hpp"
#include "io/redis/redis_batch.hpp"
#include "io/redis/redis_outbox.hpp"
#include "io/redis/redis_push.hpp"
#include "io/redis/redis_trouble.hpp"
#include "io/redis/redis_url.hpp"
#include "io/thread/background.hpp"
#include "io/thread/condition.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/random.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace holdfast::io {

namespace {

using outcome = redis_answer::outcome;

constexpr std::size_t read_bytes = 16 * 1024;
/// As much as a stream sends before the turn is over.
constexpr std::size_t outbox_bytes = stream::worth_sending;

}  // namespace

class redis_connection::state final : public stream::listener,
                                      public std::enable_shared_from_this<state> {
 public:
  state(const std::shared_ptr<loop>& l, redis_options o, std::weak_ptr<redis_listener> listener)
      : loop_(l),
        options_(std::move(o)),
        listener_(std::move(listener)),
        pause_(options_.pause_first, options_.pause_most),
        pause_after_up_(options_.pause_first, options_.pause_after_up_most),
        no_answer_(named(error(errc::unavailable, "no answer before the deadline"))),
        why_down_(named(redis_trouble::not_yet(options_.connect_limit))) {}

  result<void> send(const loop& l, const command& c) {
    if (l.on_thread()) return send_here(c);
    std::shared_ptr<stream> to;
    {
      const held_mutex hold(mutex_);
      if (phase_ != phase::up) return why_down_;
      if (is_full(c, stream_->backlog() + behind_.size())) return too_much();
      counts_.sent_elsewhere();
      if (outbox_.waits()) {
        behind_.add(request_of(c, 0), c.bytes);
        return {};
      }
      inbox_.push_back(request_of(c, stream_->append(c.bytes)));
      arm(c.deadline);
      to = stream_;
    }
    to->flush();
    return {};
  }

  bool is_up() const noexcept { return is_up_.load(); }

  std::optional<error> trouble() const {
    const held_mutex hold(mutex_);
    if (phase_ == phase::up) return std::nullopt;
    return why_down_;
  }

  counters count() const {
    const held_mutex hold(mutex_);
    return {.commands = counts_.sent(),
            .writes = io_count_->writes.load(std::memory_order_relaxed),
            .reads = io_count_->reads.load(std::memory_order_relaxed),
            .connects = connects_,
            .unanswered = counts_.unanswered(),
            .queued_bytes = stream_ ? stream_->backlog() : 0};
  }

  /// False when it was closed before.
  bool refuse_new() {
    const held_mutex hold(mutex_);
    if (phase_ == phase::closing || phase_ == phase::closed) return false;
    was_up_ = phase_ == phase::up;
    phase_ = phase::closing;
    is_up_ = false;
    why_down_ = named(error(errc::unavailable, "the connection was closed by its owner"));
    return true;
  }

  void await_end(duration limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    const held_mutex hold(mutex_);
    bool in_time = true;
    while (phase_ != phase::closed && in_time) in_time = ended_.wait_until(mutex_, until);
  }

  // ---- the loop's thread from here on ----

  void begin() {
    const auto l = loop_.lock();
    if (!l || is_closing()) return;
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
    if (!l || !current_ || !was_up_ || limit <= duration::zero()) return end();
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
    if (const held_mutex hold(mutex_); phase_ == phase::down) why_down_ = why;
    if (const auto w = listener_.lock()) w->down(why);
  }

  void late() override {
    if (!current_ || (handshake_->done() && handshake_->selected())) return;
    lose(redis_trouble::not_ready(options_.connect_limit, options_.tls != nullptr));
  }

  void turn_ends() override { empty_outbox(); }

  std::span<char> space() override { return reader_->space(read_bytes); }

  void received(std::size_t count) override {
    const auto now = clock::now();
    silent_since_ = time_point::max();
    reader_->received(count);
    const auto w = listener_.lock();
    if (w) w->answers_begin();
    while (current_) {
      const wire::reply* r = reader_->next();
      if (r == nullptr) break;
      requests_.fetch_ahead();
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
  enum class phase { down, up, closing, closed };

  error named(const error& e) const {
    return e.reworded("redis node " + options_.address.text() + ": " + e.message());
  }

  // ---- sending ----

  // On the loop's thread, which alone ends a connection: without the mutex, until the turn ends or
  // the outbox is long.
  result<void> send_here(const command& c) {
    if (!is_up_) return *trouble();
    // What another thread has sent since stands before it.
    if (behind_.waits()) empty_outbox();
    const bool is_first = outbox_.empty();
    // It shrinks only when the turn is over, or by what other threads send.
    if (is_first) backlog_here_ = current_->backlog();
    if (is_full(c, backlog_here_ + outbox_.size())) {
      const held_mutex hold(mutex_);
      return too_much();
    }
    if (is_first) begin_outbox();
    requests_.add(request_of(c, outbox_.add(c.bytes, c.deadline)));
    counts_.sent_here();
    const bool is_much = outbox_.size() >= outbox_bytes;
    if (is_much) empty_outbox();
    if (is_first || is_much) current_->flush();
    return {};
  }

  // From here on what other threads send stays behind it.
  void begin_outbox() {
    const held_mutex hold(mutex_);
    take_inbox();
    outbox_.begin(current_->appended());
  }

  // In the stream, and among the requests, all stand in the order in which they were sent.
  void empty_outbox() {
    if (outbox_.empty()) return;
    const held_mutex hold(mutex_);
    current_->append_all(outbox_.take());
    auto due = outbox_.due();
    if (!behind_.empty()) {
      due = std::min(due, behind_.take(requests_, current_->append(behind_.text())));
    }
    arm(due);
  }

  static redis_request request_of(const command& c, std::uint64_t place) {
    return {.receiver = c.receiver,
            .tag = c.tag,
            .deadline = c.deadline,
            .place = place,
            .subscribes = c.subscribes,
            .expired = false};
  }

  bool is_full(const command& c, std::size_t queued_bytes) const {
    const std::size_t share = c.is_release ? 1 : 2;
    return counts_.unanswered() * share >= options_.unanswered_max ||
           (queued_bytes + c.bytes.size()) * share > options_.queued_bytes_max;
  }

  error too_much() const HOLDFAST_REQUIRES(mutex_) {
    return named(error(errc::unavailable,
                       "it does not keep up: " + std::to_string(counts_.unanswered()) +
                           " commands are unanswered and " + std::to_string(stream_->backlog()) +
                           " bytes are not sent; nothing more is queued"));
  }

  void arm(time_point when) HOLDFAST_REQUIRES(mutex_) {
    if (when >= timer_at_.load(std::memory_order_relaxed)) return;
    const auto l = loop_.lock();
    if (!l) return;
    l->cancel(timer_);
    timer_at_ = when;
    timer_ = l->at(when, [self = weak_from_this()] {
      if (const auto s = self.lock()) s->on_timer();
    });
  }

  void take_inbox() HOLDFAST_REQUIRES(mutex_) {
    for (auto& r : inbox_) requests_.add(std::move(r));
    inbox_.clear();
  }

  // What has no place yet stands behind all that the peer may have seen.
  void take_sent(std::uint64_t handed) HOLDFAST_REQUIRES(mutex_) {
    take_inbox();
    outbox_.take().clear();
    behind_.take(requests_, handed);
  }

  // ---- answers ----

  void take(const wire::reply& r, time_point now) {
    const bool is_push = r.is(wire::reply_kind::push);
    if (!handshake_->done()) {
      if (!is_push) take_greeting(r);
      return;
    }
    const bool answers_nothing =
        is_push ? !(confirms_subscription(r) && is_owed() && requests_.front().subscribes)
                : is_subscribed_ && is_message(r);
    if (answers_nothing) {
      if (const auto w = listener_.lock()) w->pushed(r);
      return;
    }
    if (!is_owed()) {
      return lose(error(errc::unavailable, "it sent an answer to no command; is it Redis?"));
    }
    const auto request = requests_.take_front();
    counts_.done(1);
    if (request.subscribes) is_subscribed_ = handshake_->facts().protocol == 2;
    if (request.expired) {
      request.receiver->answered_late(request.tag, &r, now);
    } else {
      request.receiver->answered(request.tag,
                                 {.what = outcome::reply, .reply = &r, .why = nullptr, .at = now});
    }
  }

  bool is_owed() {
    if (requests_.empty()) {
      const held_mutex hold(mutex_);
      take_inbox();
    }
    if (requests_.empty()) return false;
    // Nothing is owed for what has not left yet.
    return outbox_.empty() || requests_.front().place < outbox_.begins_at();
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
    up_since_ = clock::now();
    is_subscribed_ = false;
    const held_mutex hold(mutex_);
    if (phase_ != phase::down) return false;
    phase_ = phase::up;
    is_up_ = true;
    stream_ = current_;
    ++connects_;
    return true;
  }

  void on_timer() {
    const auto now = clock::now();
    {
      const held_mutex hold(mutex_);
      timer_at_ = time_point::max();
      take_inbox();
    }
    const auto due = requests_.take_due(now);
    if (!due.empty()) silent_since_ = std::min(silent_since_, now);
    for (const auto& r : due) tell(r, outcome::unknown, no_answer_, now);
    if (silent_since_ != time_point::max() && now - silent_since_ >= options_.silence_max) {
      return lose(redis_trouble::silent(options_.silence_max));
    }
    const auto silent_until = silent_since_ == time_point::max()
                                  ? time_point::max()
                                  : silent_since_ + options_.silence_max;
    const held_mutex hold(mutex_);
    arm(std::min(requests_.next_deadline(), silent_until));
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
    {
      const held_mutex hold(mutex_);
      take_sent(old->handed());
      stream_ = nullptr;
      if (phase_ != phase::closing) {
        phase_ = phase::down;
        is_up_ = false;
        why_down_ = why;
      }
    }
    silent_since_ = time_point::max();
    tell_all(old->handed(), why);
    const auto w = listener_.lock();
    if (w) w->down(why);
    if (ends_when_idle_) return end();
    begin_after_pause();
  }

  void tell_all(std::uint64_t handed, const error& why) {
    const auto now = clock::now();
    const auto left = requests_.take_all();
    counts_.done(left.size());
    for (const auto& r : left) {
      if (r.expired) {
        r.receiver->answered_late(r.tag, nullptr, now);
      } else {
        tell(r, r.place < handed ? outcome::unknown : outcome::not_sent, why, now);
      }
    }
  }

  void begin_after_pause() {
    const auto l = loop_.lock();
    if (!l || is_closing()) return;
    const auto now = clock::now();
    const bool was_up = up_since_ != time_point::max();
    if (was_up) pause_.reset();
    // Else each that is lost as soon as it is up would be followed by one more handshake at once.
    if (now - up_since_ >= options_.lasting) pause_after_up_.reset();
    up_since_ = time_point::max();
    auto& pause = was_up ? pause_after_up_ : pause_;
    l->at(now + pause.next(random_bits()), [self = weak_from_this()] {
      if (const auto s = self.lock()) s->begin();
    });
  }

  bool is_closing() const {
    const held_mutex hold(mutex_);
    return phase_ == phase::closing || phase_ == phase::closed;
  }

  void end_if_idle() {
    if (current_ && outbox_.empty() && !is_owed()) end();
  }

  void end() {
    ends_when_idle_ = false;
    if (current_) {
      const auto old = std::exchange(current_, nullptr);
      old->close();
      held_mutex hold(mutex_);
      take_sent(old->handed());
      stream_ = nullptr;
      const error why = why_down_;
      hold.unlock();
      tell_all(old->handed(), why);
    }
    const held_mutex hold(mutex_);
    phase_ = phase::closed;
    ended_.notify_all();
  }

  const std::weak_ptr<loop> loop_;
  const redis_options options_;
  const std::weak_ptr<redis_listener> listener_;
  const std::shared_ptr<stream::counters> io_count_{std::make_shared<stream::counters>()};

  // The loop's thread only.
  core::backoff pause_;
  core::backoff pause_after_up_;
  const error no_answer_;
  unsigned attempt_{0};
  std::shared_ptr<stream> current_;
  std::optional<wire::resp_reader> reader_;
  std::optional<redis_handshake> handshake_;
  redis_requests requests_;
  command_counts counts_;        ///< Read by others.
  redis_outbox outbox_;          ///< Sent in this turn. Emptied under the mutex.
  std::size_t backlog_here_{0};  ///< Of current_, as the outbox was begun.
  bool is_subscribed_{false};
  bool was_up_{false};  ///< When it was closed; written before the loop hears of that.
  bool ends_when_idle_{false};
  time_point up_since_{time_point::max()};
  time_point silent_since_{time_point::max()};

  mutable mutex mutex_;
  condition ended_;
  phase phase_ HOLDFAST_GUARDED_BY(mutex_){phase::down};
  std::atomic<bool> is_up_{false};  ///< As phase_ says, for who only looks.
  error why_down_ HOLDFAST_GUARDED_BY(mutex_);
  std::shared_ptr<stream> stream_ HOLDFAST_GUARDED_BY(mutex_);    ///< While up.
  std::vector<redis_request> inbox_ HOLDFAST_GUARDED_BY(mutex_);  ///< Not seen by the loop yet.
  redis_batch behind_;  ///< Sent while the outbox waits: behind it. Only waits() needs no mutex.
  std::uint64_t connects_ HOLDFAST_GUARDED_BY(mutex_){0};
  std::atomic<time_point> timer_at_{time_point::max()};
  std::uint64_t timer_ HOLDFAST_GUARDED_BY(mutex_){0};
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
