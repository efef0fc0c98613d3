#include "io/zookeeper/zookeeper_connection.hpp"

#include "io/net/earliest_timer.hpp"
#include "io/process/fork_mark.hpp"
#include "io/zookeeper/zookeeper_calls.hpp"
#include "io/zookeeper/zookeeper_log.hpp"
#include "io/zookeeper/zookeeper_socket.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace holdfast::io {

namespace {

using namespace std::chrono_literals;

constexpr duration pause_after_failure = 20ms;
// What a server says first is how long its greeting is.
constexpr int greeting_size = 4;
// As many replies are taken before others on the loop have their turn.
constexpr int replies_at_once = 512;

// Of the process, and so on one loop.
std::atomic<std::size_t> drivers{0};

}  // namespace

class zookeeper_connection::driver : public std::enable_shared_from_this<driver> {
 public:
  driver(std::shared_ptr<loop> l, options o, std::weak_ptr<listener> its_listener)
      : loop_(std::move(l)),
        options_(std::move(o)),
        servers_(1 + static_cast<std::size_t>(std::ranges::count(options_.servers, ','))),
        listener_(std::move(its_listener)),
        socket_(loop_->context()),
        timer_(loop_) {
    ++drivers;
  }
  ~driver();

  /// Runs it soon, unless this is gone by then.
  void post(void (*what)(driver&)) {
    loop_->post([self = weak_from_this(), what] {
      if (const auto d = self.lock()) what(*d);
    });
  }
  void start();
  bool connected() const noexcept { return connected_; }
  void send(const zoo_request& r, on_reply done);
  void hold(bool held) const noexcept { socket_.hold(held); }
  void hang_up();
  void close();
  const std::string& trouble() const noexcept { return trouble_; }
  std::string server() const;

 private:
  /// Called by the library, inside of its turn. What it says of its session is read off it instead.
  static void on_event(zhandle_t*, int type, int state, const char* path, void* self);

  /// A turn of the library: what the socket is ready for.
  void drive(int events);
  /// Asks the library what it waits for, and waits for that. Its last turn ends with this.
  void arm();
  void arm_soon();
  /// The library's socket, which is another one after each reconnect; -1: it has none.
  void adopt(int fd);
  void await(int event);
  void log_in();
  /// Looks at the first bytes without taking them. False also while there are too few.
  bool greeted_wrongly();
  /// Tells the listener what has changed, and that may close all this.
  void note_state();
  /// What the library logged in this turn.
  void note_trouble();
  /// Not inside of the library's turn.
  void finish();
  void free_handle();

  const std::shared_ptr<loop> loop_;
  const options options_;
  const std::size_t servers_;
  const std::uint64_t generation_{process_generation()};
  std::weak_ptr<listener> listener_;
  zhandle_t* handle_{};
  zookeeper_socket socket_;
  earliest_timer timer_;
  std::size_t outstanding_{};
  std::string line_;  ///< The library's last one.
  std::string trouble_;
  std::size_t absent_{};  ///< So many servers in a row were not there.
  bool inside_{};
  bool arms_soon_{};
  bool connected_{};
  bool greeted_{};
  bool misled_{};  ///< By a greeting that is none: what the library says of the end is no news.
  bool logged_in_{};
  bool closing_{};
  bool silent_{};  ///< Nobody is there to be answered.
};

zookeeper_connection::driver::~driver() {
  --drivers;
  if (process_generation() != generation_) {
    // In a forked child the session, and what the loop waits for, are the parent's.
    socket_.leave_to_parent();
    return;
  }
  silent_ = true;
  free_handle();
}

void zookeeper_connection::driver::start() {
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  // Else the library would seed the program's random(3).
  zoo_deterministic_conn_order(1);
  // Two thirds of it is the silence after which the library gives a server up.
  const auto limit =
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.timeout * 3 / 2);
  {
    const zookeeper_log here(line_);
    handle_ = zookeeper_init2(options_.servers.c_str(), &driver::on_event,
                              static_cast<int>(std::max<std::int64_t>(limit.count(), 30)), nullptr,
                              this, ZOO_NO_LOG_CLIENTENV, &zookeeper_log::take);
  }
  if (handle_ == nullptr) {
    trouble_ = "the client library refuses the servers " + options_.servers;
    if (const auto o = listener_.lock()) o->ended();
    return;
  }
  // It would resolve them again, with blocking calls, whenever it is asked what to wait for.
  zoo_set_servers_resolution_delay(handle_, -1);
  arm();
}

std::string zookeeper_connection::driver::server() const {
  const char* name = handle_ != nullptr ? zoo_get_current_server(handle_) : nullptr;
  return name != nullptr ? name : "";
}

void zookeeper_connection::driver::on_event(zhandle_t*, int type, int, const char* path,
                                            void* self) {
  auto& d = *static_cast<driver*>(self);
  if (type == ZOO_SESSION_EVENT || d.silent_) return;
  if (const auto o = d.listener_.lock()) o->node_changed(path);
}

void zookeeper_connection::driver::send(const zoo_request& r, on_reply done) {
  bool taken = false;
  const auto shared = std::make_shared<on_reply>(std::move(done));
  if (handle_ != nullptr && zoo_state(handle_) == ZOO_CONNECTED_STATE) {
    const zookeeper_log here(line_);
    taken = call_zookeeper(handle_, r, !options_.login.empty(), [this, shared](zoo_reply reply) {
      --outstanding_;
      if (!silent_) (*shared)(std::move(reply));
    });
  }
  if (taken) {
    ++outstanding_;
    return arm_soon();
  }
  loop_->post([shared] { (*shared)({.code = zoo_code::invalid_state}); });
}

void zookeeper_connection::driver::arm_soon() {
  // Only what the socket did not take at once needs more; but only the library knows.
  if (inside_ || std::exchange(arms_soon_, true)) return;
  loop_->post([self = shared_from_this()] {
    self->arms_soon_ = false;
    self->arm();
  });
}

// ---- the library's turn ----

void zookeeper_connection::driver::drive(int events) {
  if (handle_ == nullptr || inside_) return;
  if ((events & ZOOKEEPER_READ) != 0 && !greeted_ && greeted_wrongly()) hang_up();
  inside_ = true;
  {
    const zookeeper_log here(line_);
    int result = ZOK;
    for (int i = 0; i < replies_at_once && result == ZOK; ++i) {
      result = zookeeper_process(handle_, events);
      // It takes one reply in a call.
      events &= ZOOKEEPER_READ;
      if (events == 0) break;
    }
    if (result != ZOK && result != ZNOTHING) note_trouble();
  }
  inside_ = false;
  note_state();
  arm();
}

void zookeeper_connection::driver::arm() {
  if (handle_ == nullptr || inside_) return;
  if (closing_) return finish();
  int fd = -1;
  int interest = 0;
  timeval left{};
  int result = ZOK;
  inside_ = true;
  {
    const zookeeper_log here(line_);
    result = zookeeper_interest(handle_, &fd, &interest, &left);
    if (result != ZOK) note_trouble();
  }
  inside_ = false;
  note_state();
  if (handle_ == nullptr || is_unrecoverable(handle_) != 0) return;
  adopt(result == ZOK ? fd : -1);
  log_in();
  if ((interest & ZOOKEEPER_READ) != 0) await(ZOOKEEPER_READ);
  if ((interest & ZOOKEEPER_WRITE) != 0) await(ZOOKEEPER_WRITE);
  const duration pause =
      std::chrono::seconds(left.tv_sec) + std::chrono::microseconds(left.tv_usec);
  // A little early does no harm: what is left is asked for again.
  timer_.no_later_than(clock::now() + std::max(pause, pause_after_failure), *this, &driver::arm);
}

void zookeeper_connection::driver::adopt(int fd) {
  if (!socket_.adopt(fd)) return;
  greeted_ = false;
  // The library must not take the first bytes of a greeting before they can be looked at.
  socket_.wait_for(greeting_size);
}

void zookeeper_connection::driver::await(int event) {
  using stream = zookeeper_socket::stream;
  socket_.await(event == ZOOKEEPER_READ ? stream::wait_read : stream::wait_write,
                [self = weak_from_this(), event] {
                  if (const auto d = self.lock()) d->drive(event);
                });
}

void zookeeper_connection::driver::log_in() {
  if (logged_in_ || options_.login.empty() || zoo_state(handle_) == ZOO_NOTCONNECTED_STATE) return;
  const zookeeper_log here(line_);
  logged_in_ =
      zoo_add_auth(
          handle_, "digest", options_.login.c_str(), static_cast<int>(options_.login.size()),
          [](int, const void*) {}, nullptr) == ZOK;
}

// The library would take any 41 bytes for a server's greeting, and trust all that follows.
bool zookeeper_connection::driver::greeted_wrongly() {
  const auto size = socket_.first_word();
  if (!size) return false;
  greeted_ = true;
  socket_.wait_for(1);
  misled_ = *size != 36 && *size != 37;  // Without and with a byte for read-only servers.
  if (!misled_) return false;
  trouble_ = server() + " answers what is not ZooKeeper's protocol; is the port right?";
  return true;
}

void zookeeper_connection::driver::note_trouble() {
  const std::string line = std::exchange(line_, {});
  const auto trouble = zookeeper_log::trouble_in(line, greeted_);
  if (trouble.empty()) return;
  const bool misled = std::exchange(misled_, false);
  if (!misled) trouble_ = trouble;
  absent_ = misled || zookeeper_log::says_nobody_is_there(line) ? absent_ + 1 : 0;
}

void zookeeper_connection::driver::note_state() {
  if (handle_ == nullptr) return;
  const int state = zoo_state(handle_);
  const bool now = state == ZOO_CONNECTED_STATE;
  if (now && !connected_) trouble_.clear();
  if (state == ZOO_AUTH_FAILED_STATE) {
    trouble_ = "the server refuses the login; is scheme digest enabled, and required logins given?";
  }
  const bool was = std::exchange(connected_, now);
  const auto o = listener_.lock();
  if (!o) return;
  if (was && !now) o->disconnected();
  if (!was && now) o->connected();
  // The listener may have closed this.
  if (handle_ == nullptr) return;
  if (is_unrecoverable(handle_) != 0) {
    listener_.reset();
    return o->ended();
  }
  if (now) absent_ = 0;
  if (absent_ < servers_) return;
  absent_ = 0;
  o->none_there();
}

// ---- the end ----

void zookeeper_connection::driver::hang_up() {
  socket_.cut_off();
  socket_.drop();
  if (inside_ || handle_ == nullptr) return;
  // The library reads the end of the stream, and answers all that is under way with a loss.
  loop_->post([self = shared_from_this()] { self->drive(ZOOKEEPER_READ); });
}

void zookeeper_connection::driver::close() {
  listener_.reset();
  closing_ = true;
  if (!inside_) finish();
}

void zookeeper_connection::driver::finish() {
  timer_.cancel();
  if (handle_ == nullptr) return;
  inside_ = true;
  free_handle();
  inside_ = false;
}

void zookeeper_connection::driver::free_handle() {
  if (handle_ == nullptr) return;
  const zookeeper_log here(line_);
  auto* const h = std::exchange(handle_, nullptr);
  connected_ = false;
  // Where the library takes itself for connected it tells the server, and waits up to 1.5 s for the
  // answer. Nothing hangs on that, so that nobody else on the loop is kept waiting for it; but a
  // server that is not told logs a warning, and keeps its session until that times out.
  const bool tells = socket_.is_live() && !silent_ && outstanding_ == 0 && drivers == 1;
  if (!tells) {
    socket_.cut_off();
    zookeeper_process(h, ZOOKEEPER_READ);
  }
  zookeeper_close(h);
  socket_.drop();
}

// ---- the connection ----

zookeeper_connection::zookeeper_connection(std::shared_ptr<loop> l, options o,
                                           std::weak_ptr<listener> its_listener)
    : driver_(std::make_shared<driver>(std::move(l), std::move(o), std::move(its_listener))) {}

zookeeper_connection::~zookeeper_connection() = default;

void zookeeper_connection::start() {
  driver_->post([](driver& d) { d.start(); });
}
bool zookeeper_connection::connected() const noexcept { return driver_->connected(); }
void zookeeper_connection::send(const zoo_request& r, on_reply done) {
  driver_->send(r, std::move(done));
}
void zookeeper_connection::hold() { driver_->hold(true); }
void zookeeper_connection::let_go() { driver_->hold(false); }
void zookeeper_connection::hang_up() { driver_->hang_up(); }
void zookeeper_connection::close() { driver_->close(); }
const std::string& zookeeper_connection::trouble() const noexcept { return driver_->trouble(); }
std::string zookeeper_connection::server() const { return driver_->server(); }

}  // namespace holdfast::io
