#include "io/grpc/grpc_connection.hpp"

#include "core/backoff.hpp"
#include "io/grpc/grpc_call.hpp"
#include "io/grpc/grpc_silence.hpp"
#include "io/grpc/grpc_trouble.hpp"
#include "io/grpc/http2_session.hpp"
#include "io/net/stream.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/random.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::io {

namespace {

using kind = grpc_outcome::kind;

constexpr std::size_t read_bytes = 32 * 1024;
constexpr const char* going_away = "it goes away (GOAWAY)";
constexpr const char* used_up = "its connection takes no more calls; a new one follows";

}  // namespace

class grpc_connection::state final : public stream::listener,
                                     public http2_session::listener,
                                     public std::enable_shared_from_this<state> {
 public:
  state(const std::shared_ptr<loop>& l, grpc_options o, std::weak_ptr<grpc_listener> listener)
      : loop_(l),
        options_(std::move(o)),
        listener_(std::move(listener)),
        pause_(options_.pause_first, options_.pause_most),
        silence_(options_.silence_max),
        why_down_(named(error(errc::unavailable, "not connected yet"))) {}

  // ---- calls ----

  std::uint64_t start(const request& r, duration limit, bool leader, std::unique_ptr<grpc_call> c) {
    const auto id = ++last_call_;
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
    const auto number = session_->submit(head);
    if (number < 0) {
      leave_soon();
      refuse(std::move(c), name() + used_up);
      return id;
    }
    ++calls_made_;
    if (c->deadline != time_point::max()) due_.emplace(c->deadline, number);
    ids_.emplace(id, number);
    c->id = id;
    calls_.emplace(number, std::move(c));
    arm();
    pump();
    return id;
  }

  void send(std::uint64_t id, std::string_view message) {
    const auto found = ids_.find(id);
    if (found == ids_.end()) return;
    auto& c = *calls_.at(found->second);
    wire::put_grpc_message(c.out, message);
    if (std::exchange(c.deferred, false)) session_->resume(found->second);
    pump();
  }

  void cancel(std::uint64_t id) {
    const auto found = ids_.find(id);
    if (found == ids_.end()) return;
    const auto number = found->second;
    forget(number);
    session_->reset(number);
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
    session_ = http2_session::make(*this, options_.first_stream);
    if (!session_) return lose(error(errc::unavailable, "there is no memory for its session"));
    pump();
  }

  void names_hang(const std::string& why) override {
    why_down_ = named(error(errc::timed_out, why));
    if (const auto w = listener_.lock()) w->down(why_down_);
  }

  void late() override {
    if (!current_ || is_up_ || goes_away_) return;
    lose(never_ready(options_.connect_limit, is_encrypted()));
  }

  std::span<char> space() override { return room_; }

  void received(std::size_t count) override {
    silence_.heard();
    if (!session_) return;
    // Kept alive, for what is told below may end this connection.
    const auto self = shared_from_this();
    session_->receive({room_.data(), count});
    deliver();
    drain();
    if (has_gone()) return lose(error(errc::unavailable, why_leaves_));
    if (const auto why = silence_.why_leave()) return lose(*why);
    pump();
    const auto over = session_ ? session_->over() : std::nullopt;
    if (over) lose(unreadable_http2(*over, greeted_));
    if (current_ && current_->backlog() > 2 * options_.queued_bytes_max) lose(reads_nothing());
  }

  void lost(const error& why) override { lose(greeted_ ? why : gone_unheard(why, is_encrypted())); }

  // ---- what HTTP/2 says; nobody else is called from here ----

  void settings() override { greeted_ = true; }
  void goes_away() override { goes_away_ = true; }

  void sends_head(std::int32_t number) override {
    if (auto* c = find(number)) c->place = appended_;
  }

  std::size_t body(std::int32_t number, std::span<std::uint8_t> room, bool& ends,
                   bool& waits) override {
    auto* c = find(number);
    if (c == nullptr) return ends = true, 0;
    const auto left = std::string_view(c->out).substr(c->out_at);
    const auto count = std::min(room.size(), left.size());
    std::copy_n(left.begin(), count, room.begin());
    c->out_at += count;
    if (c->out_at == c->out.size()) {
      c->out.clear();
      c->out_at = 0;
      ends = c->half_closes;
      waits = c->deferred = !ends && count == 0;
    }
    return count;
  }

  void header(std::int32_t number, std::string_view name, std::string_view value) override {
    auto* c = find(number);
    if (c == nullptr) return;
    if (name == ":status") c->http_status = wire::grpc_status(value).value_or(0);
    if (name == "grpc-status") c->status = wire::grpc_status(value);
    if (name == "grpc-message") c->text = wire::grpc_text(value);
  }

  bool data(std::int32_t number, std::string_view bytes) override {
    auto* c = find(number);
    if (c == nullptr) return true;
    c->in.feed(bytes);
    while (const auto m = c->in.next()) {
      if (c->took) {
        news_.push_back({c->id, std::string(*m)});
      } else {
        c->message = *m;
        c->has_message = true;
      }
    }
    if (c->in.failure() == nullptr) return true;
    c->text = c->in.failure();
    return false;
  }

  void closed(std::int32_t number, bool refused, std::string_view why) override {
    auto* c = find(number);
    if (c == nullptr) return;
    if (c->text.empty()) c->text = why;
    if (c->status) pause_.reset();
    if (c->status) silence_.answered();
    if (refused) silence_.refused();
    ended_.push_back({forget(number), refused});
  }

 private:
  struct message_of {
    std::uint64_t id;
    std::string text;
  };
  struct end_of {
    std::unique_ptr<grpc_call> call;
    bool refused;
  };

  bool is_encrypted() const noexcept { return options_.tls != nullptr; }
  error named(const error& e) const {
    return error(e.code(), options_.kind + " " + options_.address.text() + ": " + e.message());
  }
  std::string name() const { return options_.kind + " " + options_.address.text() + ": "; }

  grpc_call* find(std::int32_t number) {
    const auto found = calls_.find(number);
    return found == calls_.end() ? nullptr : found->second.get();
  }

  std::unique_ptr<grpc_call> forget(std::int32_t number) {
    const auto found = calls_.find(number);
    if (found == calls_.end()) return {};
    auto c = std::move(found->second);
    calls_.erase(found);
    ids_.erase(c->id);
    due_.erase({c->deadline, number});
    return c;
  }

  std::optional<std::string> why_not(std::size_t bytes) const {
    if (!is_up_) return why_down_.message();
    if (calls_.size() < options_.calls_max &&
        current_->backlog() + bytes <= options_.queued_bytes_max) {
      return {};
    }
    return name() + "it does not keep up: " + std::to_string(calls_.size()) +
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

  // ---- sending ----

  void pump() {
    if (!session_ || !current_) return;
    while (const auto bytes = session_->take())
      appended_ = current_->append(*bytes) + bytes->size();
    current_->flush();
    if (ended_.empty()) return;
    // Those that could not be sent.
    if (const auto l = loop_.lock()) {
      l->post([self = weak_from_this()] {
        if (const auto s = self.lock()) s->deliver();
      });
    }
  }

  // ---- answers ----

  void deliver() {
    if (greeted_ && !is_up_ && !goes_away_ && session_) come_up();
    // Whoever is told may call once more, and such a call may end here and now: pump() comes back.
    const auto ended = std::exchange(ended_, {});
    // Messages of a stream that has ended in the same bytes come first.
    for (const auto& m : std::exchange(news_, {})) {
      const auto found = ids_.find(m.id);
      if (found != ids_.end()) {
        const auto took = calls_.at(found->second)->took;
        took(m.text);
        continue;
      }
      for (const auto& e : ended) {
        if (e.call && e.call->id == m.id) e.call->took(m.text);
      }
    }
    for (const auto& e : ended) {
      if (e.call) e.call->end(e.refused, name());
    }
  }

  void come_up() {
    is_up_ = true;
    ++connects_;
    if (const auto w = listener_.lock()) w->up();
  }

  bool has_gone() const noexcept { return goes_away_ && session_ && calls_.empty(); }

  // A connection numbers 2^30 calls (RFC 9113 section 5.1.1). Later: whoever is told may be
  // calling.
  void leave_soon() {
    const auto l = loop_.lock();
    if (!l || std::exchange(goes_away_, true)) return;
    why_leaves_ = used_up;
    l->post([self = weak_from_this(), number = attempt_] {
      const auto s = self.lock();
      if (!s || s->attempt_ != number) return;
      s->drain();
      if (s->has_gone()) s->lose(error(errc::unavailable, used_up));
    });
  }

  // The peer finishes what it has begun and takes nothing more; a stream would never finish.
  void drain() {
    if (!goes_away_ || !session_ || std::exchange(drains_, true)) return;
    is_up_ = false;
    why_down_ = named(error(errc::unavailable, why_leaves_));
    std::vector<std::int32_t> streams;
    for (const auto& [number, c] : calls_) {
      if (c->took) streams.push_back(number);
    }
    const auto text = why_down_.message();
    for (const auto number : streams) {
      const auto c = forget(number);
      if (!c) continue;  // Whoever was told of an earlier one has cancelled it.
      session_->reset(number);
      c->done({.what = kind::unknown, .status = 0, .message = {}, .text = text});
    }
    if (const auto w = listener_.lock()) w->down(why_down_);
  }

  // ---- time ----

  void arm() {
    auto when = due_.empty() ? time_point::max() : due_.begin()->first;
    when = std::min(when, silence_.due());
    if (when >= timer_at_) return;
    const auto l = loop_.lock();
    if (!l) return;
    l->cancel(timer_);
    timer_at_ = when;
    timer_ = l->at(when, [self = weak_from_this()] {
      if (const auto s = self.lock()) s->on_timer();
    });
  }

  void on_timer() {
    timer_at_ = time_point::max();
    const auto now = clock::now();
    std::vector<std::unique_ptr<grpc_call>> late;
    while (!due_.empty() && due_.begin()->first <= now) {
      const auto number = due_.begin()->second;
      late.push_back(forget(number));
      silence_.late(late.back()->place < current_->handed());
      session_->reset(number);
    }
    pump();
    const std::string text = name() + "no answer before the deadline";
    for (const auto& c : late) {
      // What is queued still leaves: only where HTTP/2 has not begun it was it taken back.
      const bool sent = c->place != grpc_call::nowhere;
      c->done({.what = sent ? kind::unknown : kind::not_sent,
               .status = 0,
               .message = {},
               .text = text});
    }
    if (const auto why = silence_.why_leave()) return lose(*why);
    // The last call may have ended by its deadline, without a byte.
    if (has_gone()) return lose(error(errc::unavailable, why_leaves_));
    arm();
  }

  // ---- the end of a connection ----

  void lose(const error& plain) {
    if (!current_) return;
    const auto old = std::exchange(current_, nullptr);
    // First: from here on nothing more can reach the peer.
    old->close();
    session_.reset();
    is_up_ = greeted_ = goes_away_ = drains_ = false;
    why_leaves_ = going_away;
    why_down_ = named(plain);
    silence_ = grpc_silence(options_.silence_max);
    due_.clear();
    ids_.clear();
    appended_ = 0;
    const auto text = why_down_.message();
    const auto handed = old->handed();
    for (const auto& [number, c] : std::exchange(calls_, {})) {
      c->done({.what = c->place < handed ? kind::unknown : kind::not_sent,
               .status = 0,
               .message = {},
               .text = text});
    }
    if (const auto w = listener_.lock()) w->down(why_down_);
    const auto l = loop_.lock();
    if (!l || closed_) return;
    l->at(clock::now() + pause_.next(random_bits()), [self = weak_from_this()] {
      if (const auto s = self.lock()) s->begin();
    });
  }

  const std::weak_ptr<loop> loop_;
  const grpc_options options_;
  const std::weak_ptr<grpc_listener> listener_;
  const std::string authority_{options_.address.is_unix() ? "localhost" : options_.address.text()};
  const std::shared_ptr<stream::counters> io_count_{std::make_shared<stream::counters>()};
  core::backoff pause_;
  grpc_silence silence_;
  unsigned attempt_{0};
  std::shared_ptr<stream> current_;
  std::unique_ptr<http2_session> session_;
  std::array<char, read_bytes> room_;
  std::uint64_t appended_{0};
  std::unordered_map<std::int32_t, std::unique_ptr<grpc_call>> calls_;
  std::unordered_map<std::uint64_t, std::int32_t> ids_;
  std::set<std::pair<time_point, std::int32_t>> due_;
  std::vector<message_of> news_;
  std::vector<end_of> ended_;
  std::uint64_t last_call_{0};
  std::uint64_t calls_made_{0};
  std::uint64_t connects_{0};
  time_point timer_at_{time_point::max()};
  std::uint64_t timer_{0};
  bool is_up_{};
  bool greeted_{};
  bool goes_away_{};
  const char* why_leaves_{going_away};
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
