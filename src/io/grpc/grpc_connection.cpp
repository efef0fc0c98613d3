#include "io/grpc/grpc_connection.hpp"

#include "core/backoff.hpp"
#include "io/grpc/grpc_call.hpp"
#include "io/grpc/grpc_calls.hpp"
#include "io/grpc/grpc_trouble.hpp"
#include "io/net/earliest_timer.hpp"
#include "io/net/stream.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/random.hpp"

#include <array>
#include <atomic>
#include <utility>

/// The socket, the pauses between tries and the timer; the calls are grpc_calls'. Nothing is told
/// inside a call of the owner: what there is to tell waits for the loop.

namespace holdfast::io {

namespace {

using kind = grpc_outcome::kind;

constexpr std::size_t read_bytes = 32 * 1024;

}  // namespace

class grpc_connection::state final : public stream::listener,
                                     public std::enable_shared_from_this<state> {
 public:
  state(const std::shared_ptr<loop>& l, grpc_options o, std::weak_ptr<grpc_listener> listener)
      : loop_(l),
        options_(std::move(o)),
        listener_(std::move(listener)),
        pause_(options_.pause_first, options_.pause_most),
        timer_(l),
        why_down_(named(error(errc::unavailable, "not connected yet"))) {}

  // ---- calls ----

  std::uint64_t start(const request& r, duration limit, bool leader, std::unique_ptr<grpc_call> c) {
    c->id = ++last_call_;
    const auto id = c->id;
    if (auto refused = why_not(r.message.size())) {
      refuse(std::move(c), *refused);
      return id;
    }
    wire::put_grpc_message(c->out, r.message);
    http2_session::head head;
    head.path = r.path;
    head.authority = authority_;
    head.token = r.token;
    head.encrypted = is_encrypted();
    head.leader = leader;
    if (limit != duration::max()) head.timeout = grpc_timeout(limit);
    const bool was_leaving = calls_->is_leaving();
    if (!calls_->begin(c, head)) {
      if (!was_leaving) leave_soon();
      refuse(std::move(c), name() + grpc_calls::used_up);
      return id;
    }
    ++calls_made_;
    arm();
    pump();
    return id;
  }

  void send(std::uint64_t id, std::string_view message) {
    if (!calls_) return;
    calls_->send(id, message);
    pump();
  }

  void cancel(std::uint64_t id) {
    if (!calls_) return;
    calls_->cancel(id);
    pump();
  }

  bool is_up() const noexcept { return is_up_; }
  std::optional<error> trouble() const {
    if (is_up_) return std::nullopt;
    return why_down_;
  }
  counters count() const {
    return {.calls = calls_made_,
            .writes = io_count_->writes.load(std::memory_order_relaxed),
            .connects = connects_};
  }
  const grpc_options& set() const noexcept { return options_; }

  // ---- the connection ----

  void begin() {
    const auto l = loop_.lock();
    if (!l || closed_) return;
    current_ = stream::make(l,
                            {.address = options_.address,
                             .tls = options_.tls,
                             .silence_max = options_.silence_max,
                             .connect_limit = options_.connect_limit,
                             .attempt = attempt_++},
                            weak_from_this(), io_count_);
    current_->start(l);
  }

  void end() {
    if (std::exchange(closed_, true)) return;
    lose(error(errc::unavailable, "the connection was closed by its owner"));
  }

  void opened() override {
    // A session of HTTP/2 is of one connection, and so are its calls.
    calls_ = grpc_calls::make(options_.first_stream, options_.silence_max);
    if (!calls_) return lose(error(errc::unavailable, "there is no memory for its session"));
    pump();
  }

  void names_hang(const std::string& why) override {
    why_down_ = named(error(errc::timed_out, why));
    if (const auto w = listener_.lock()) w->down(why_down_);
  }

  void late() override {
    if (!current_ || is_up_ || (calls_ && calls_->is_leaving())) return;
    lose(never_ready(options_.connect_limit, is_encrypted()));
  }

  std::span<char> space() override { return room_; }

  void received(std::size_t count) override {
    if (!calls_) return;
    // Kept alive, for what is told below may end this connection.
    const auto self = shared_from_this();
    calls_->receive({room_.data(), count});
    deliver();
    drain();
    if (leave_if_gone()) return;
    if (const auto why = calls_->why_leave()) return lose(*why);
    pump();
    if (const auto over = calls_->over()) return lose(unreadable_http2(*over, calls_->greeted()));
    // Answers to PING and SETTINGS are queued by HTTP/2 itself, whatever calls may queue.
    if (current_->backlog() > 2 * options_.queued_bytes_max) lose(reads_nothing());
  }

  void lost(const error& why) override {
    const bool greeted = calls_ && calls_->greeted();
    lose(greeted ? why : gone_unheard(why, is_encrypted()));
  }

 private:
  bool is_encrypted() const noexcept { return options_.tls != nullptr; }
  error named(const error& e) const { return e.reworded(name() + e.message()); }
  std::string name() const { return options_.kind + " " + options_.address.text() + ": "; }

  std::optional<std::string> why_not(std::size_t bytes) const {
    if (!is_up_) return why_down_.message();
    if (calls_->size() < options_.calls_max &&
        current_->backlog() + bytes <= options_.queued_bytes_max) {
      return {};
    }
    return name() + "it does not keep up: " + std::to_string(calls_->size()) +
           " calls are unanswered and " + std::to_string(current_->backlog()) +
           " bytes are not sent; nothing more is queued";
  }

  // Later: who asks must not be answered before the question has returned.
  void refuse(std::unique_ptr<grpc_call> c, std::string text) {
    const auto l = loop_.lock();
    if (!l) return;
    l->post([done = std::move(c->done), text = std::move(text)] {
      done({.what = kind::not_sent, .status = 0, .message = {}, .text = text});
    });
  }

  // ---- bytes and news ----

  void pump() {
    if (!calls_ || !current_) return;
    while (const auto bytes = calls_->take()) current_->append(*bytes);
    current_->flush();
    if (!calls_->has_news()) return;
    // Of calls that could not be sent.
    if (const auto l = loop_.lock()) {
      l->post([self = weak_from_this()] {
        if (const auto s = self.lock()) s->deliver();
      });
    }
  }

  void deliver() {
    if (!calls_) return;
    if (calls_->greeted() && !is_up_ && !calls_->is_leaving()) come_up();
    // Only behind an answer: a server that greets and takes nothing is asked ever more rarely.
    if (calls_->tell(name())) pause_.reset();
  }

  void come_up() {
    is_up_ = true;
    ++connects_;
    if (const auto w = listener_.lock()) w->up();
  }

  // ---- leaving ----

  // Later: whoever is told may be calling.
  void leave_soon() {
    const auto l = loop_.lock();
    if (!l) return;
    l->post([self = weak_from_this(), number = attempt_] {
      const auto s = self.lock();
      if (!s || s->attempt_ != number) return;
      s->drain();
      s->leave_if_gone();
    });
  }

  // The peer finishes what it has begun and takes nothing more; a stream would never finish.
  void drain() {
    if (!calls_ || !calls_->is_leaving() || std::exchange(drains_, true)) return;
    is_up_ = false;
    why_down_ = named(error(errc::unavailable, calls_->why_leaves()));
    calls_->end_streams(why_down_.message());
    if (const auto w = listener_.lock()) w->down(why_down_);
  }

  bool leave_if_gone() {
    if (!calls_ || !calls_->has_gone()) return false;
    lose(error(errc::unavailable, calls_->why_leaves()));
    return true;
  }

  // ---- time ----

  void arm() { timer_.no_later_than(calls_->due(), *this, &state::on_timer); }

  void on_timer() {
    if (!calls_) return;
    const auto late = calls_->take_late(clock::now(), current_->handed());
    pump();
    const std::string text = name() + "no answer before the deadline";
    for (const auto& c : late) {
      // What is queued still leaves: only where HTTP/2 has not begun it was it taken back.
      const bool sent = c->place != grpc_call::nowhere;
      c->tell(sent ? kind::unknown : kind::not_sent, text);
    }
    if (const auto why = calls_->why_leave()) return lose(*why);
    // The last call may have ended by its deadline, without a byte.
    if (!leave_if_gone()) arm();
  }

  // ---- the end of a connection ----

  void lose(const error& plain) {
    if (!current_) return;
    const auto old = std::exchange(current_, nullptr);
    // First: from here on nothing more can reach the peer.
    old->close();
    const auto left = std::exchange(calls_, nullptr);
    is_up_ = drains_ = false;
    why_down_ = named(plain);
    if (left) tell_all(*left, old->handed());
    if (const auto w = listener_.lock()) w->down(why_down_);
    const auto l = loop_.lock();
    if (!l || closed_) return;
    l->at(clock::now() + pause_.next(random_bits()), [self = weak_from_this()] {
      if (const auto s = self.lock()) s->begin();
    });
  }

  void tell_all(grpc_calls& left, std::uint64_t handed) {
    left.tell(name());
    const auto text = why_down_.message();
    for (const auto& c : left.take_all()) {
      c->tell(c->place < handed ? kind::unknown : kind::not_sent, text);
    }
  }

  const std::weak_ptr<loop> loop_;
  const grpc_options options_;
  const std::weak_ptr<grpc_listener> listener_;
  const std::string authority_{options_.address.is_unix() ? "localhost" : options_.address.text()};
  const std::shared_ptr<stream::counters> io_count_{std::make_shared<stream::counters>()};
  core::backoff pause_;
  earliest_timer timer_;
  unsigned attempt_{0};
  std::shared_ptr<stream> current_;
  std::unique_ptr<grpc_calls> calls_;  ///< Of current_, from when on it is open.
  std::array<char, read_bytes> room_;
  std::uint64_t last_call_{0};
  std::uint64_t calls_made_{0};
  std::uint64_t connects_{0};
  bool is_up_{};
  bool drains_{};  ///< All know that it goes away.
  bool closed_{};
  error why_down_;
};

std::unique_ptr<grpc_connection> grpc_connection::start(std::shared_ptr<loop> l,
                                                        grpc_options options,
                                                        std::weak_ptr<grpc_listener> listener) {
  auto s = std::make_shared<state>(l, std::move(options), std::move(listener));
  l->post([s] { s->begin(); });
  return std::unique_ptr<grpc_connection>(new grpc_connection(std::move(l), std::move(s)));
}

grpc_connection::grpc_connection(std::shared_ptr<loop> l, std::shared_ptr<state> s) noexcept
    : loop_(std::move(l)), state_(std::move(s)) {}

grpc_connection::~grpc_connection() { close(); }

bool grpc_connection::is_up() const noexcept { return state_->is_up(); }
std::optional<error> grpc_connection::trouble() const { return state_->trouble(); }
grpc_connection::counters grpc_connection::count() const { return state_->count(); }

void grpc_connection::call(const request& r, time_point deadline, on_outcome done) {
  auto c = std::make_unique<grpc_call>(state_->set().message_max);
  c->done = std::move(done);
  c->deadline = deadline;
  const auto limit = deadline == time_point::max() ? duration::max() : deadline - clock::now();
  static_cast<void>(state_->start(r, limit, false, std::move(c)));
}

std::uint64_t grpc_connection::open_stream(const request& first, bool leader, on_message took,
                                           on_outcome ended) {
  auto c = std::make_unique<grpc_call>(state_->set().message_max);
  c->done = std::move(ended);
  c->took = std::move(took);
  c->half_closes = false;
  return state_->start(first, duration::max(), leader, std::move(c));
}

void grpc_connection::send(std::uint64_t stream, std::string_view message) {
  state_->send(stream, message);
}
void grpc_connection::cancel(std::uint64_t stream) { state_->cancel(stream); }

void grpc_connection::close() {
  loop_->post([s = state_] { s->end(); });
}

}  // namespace holdfast::io
