#include "io/net/stream.hpp"

#include "io/net/dial.hpp"
#include "io/net/name_watch.hpp"
#include "io/net/one_write.hpp"
#include "io/net/stream_socket.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/mutex.hpp"

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/basic_stream_descriptor.hpp>
#include <asio/post.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The loop's thread connects, reads and closes; any thread may write, one at a time, and the
/// others leave their bytes to that one. `handed_` is what decides whether a lost command may have
/// been carried out: it is raised before the system call and lowered only where the kernel took
/// nothing.

namespace holdfast::io {

namespace {

/// Asio's own name for it would have the executor's type erased, for each answer anew.
using socket_descriptor = asio::posix::basic_stream_descriptor<asio::io_context::executor_type>;

error broken(int number) {
  return error(errc::unavailable,
               "the connection broke: " + std::generic_category().message(number));
}

}  // namespace

class stream::state final : public one_write::writer,
                            public std::enable_shared_from_this<stream::state> {
 public:
  state(asio::io_context& context, target to, std::weak_ptr<listener> its_listener,
        std::shared_ptr<counters> count)
      : context_(context),
        to_(std::move(to)),
        listener_(std::move(its_listener)),
        counters_(std::move(count)) {}

  void start(std::weak_ptr<loop> post_to) {
    if (const auto l = post_to.lock()) await_names(l, duration::zero());
    ask_for_addresses(std::move(post_to));
  }

  void close() {
    closed_ = true;
    dial_.reset();  // It tells no end any more.
    name_watch_.reset();
    // The descriptor itself stays until no thread writes to it any more: its number would be
    // given to somebody else.
    if (!descriptor_) return;
    ::shutdown(descriptor_->native_handle(), SHUT_RDWR);
    asio::error_code ignored;
    descriptor_->cancel(ignored);
  }

  std::uint64_t append(std::string_view bytes) {
    const held_mutex hold(mutex_);
    const auto at = appended_;
    queued_ += bytes;
    appended_ += bytes.size();
    set_backlog(backlog() + bytes.size());
    return at;
  }

  std::uint64_t append_all(std::string& bytes) {
    const held_mutex hold(mutex_);
    const auto at = appended_;
    appended_ += bytes.size();
    set_backlog(backlog() + bytes.size());
    if (queued_.empty()) {
      queued_.swap(bytes);
    } else {
      queued_ += bytes;
      bytes.clear();
    }
    return at;
  }

  void flush() override {
    if (context_.get_executor().running_in_this_thread()) {
      // In any case: the listener may have more, which it gives when the turn ends.
      flush_after_this_turn();
      if (backlog() >= worth_sending && !closed_) write_queued();
      return;
    }
    if (to_.tls == nullptr) return write_queued();
    flush_on_loop();
  }

  std::uint64_t appended() const {
    const held_mutex hold(mutex_);
    return appended_;
  }
  std::uint64_t handed() const {
    const held_mutex hold(mutex_);
    return handed_;
  }
  std::size_t backlog() const noexcept { return backlog_.load(std::memory_order_relaxed); }

 private:
  void ask_for_addresses(std::weak_ptr<loop> post_to) {
    look_up(to_.address, [self = weak_from_this(), post_to = std::move(post_to)](auto found) {
      // On a thread of the resolver: the loop may be gone when it has its answer.
      const auto l = post_to.lock();
      if (!l) return;
      l->post([self, post_to, found = std::move(found)] {
        const auto on = post_to.lock();
        const auto s = self.lock();
        if (s && on) s->connect(on, found);
      });
    });
  }

  void await_names(const std::shared_ptr<loop>& l, duration waited) {
    // Half of it: who waits for a connection for as long as that is to be told the reason.
    const auto pause = to_.connect_limit / 2;
    const auto so_long = waited + pause;
    timer_ = after(l, pause, [so_long](state& s, const std::shared_ptr<loop>& on, listener& o) {
      s.await_names(on, so_long);
      // That joins the question that is under way, unless it is so old that it may be lost.
      s.ask_for_addresses(on);
      o.names_hang(no_address_yet(s.to_.address, so_long));
    });
  }

  std::uint64_t after(const std::shared_ptr<loop>& l, duration pause,
                      std::function<void(state&, const std::shared_ptr<loop>&, listener&)> task) {
    return l->at(clock::now() + pause,
                 [self = weak_from_this(), post_to = std::weak_ptr(l), task = std::move(task)] {
                   const auto s = self.lock();
                   const auto on = post_to.lock();
                   if (!s || !on || s->closed_) return;
                   if (const auto o = s->listener_.lock()) task(*s, on, *o);
                 });
  }

  void connect(const std::shared_ptr<loop>& l, const result<std::vector<socket_address>>& found) {
    if (closed_ || std::exchange(found_, true)) return;
    l->cancel(timer_);
    // The time of a resolver is not the server's.
    timer_ = after(l, to_.connect_limit, [](state&, const auto&, listener& o) { o.late(); });
    if (!found) return lose(found.error());
    auto addresses = *found;
    // One that connects and then hangs is not the only one that is ever asked.
    const auto first = addresses.begin() + to_.attempt % addresses.size();
    std::rotate(addresses.begin(), first, addresses.end());
    dial_ = dial::make(l,
                       {.host = to_.address.is_unix() ? to_.address.path : to_.address.host,
                        .addresses = std::move(addresses),
                        .silence_max = to_.silence_max},
                       [self = weak_from_this(), post_to = std::weak_ptr(l)](auto ended) {
                         const auto s = self.lock();
                         if (s) s->connected(post_to.lock(), std::move(ended));
                       });
    dial_->start();
  }

  void connected(const std::shared_ptr<loop>& l, result<unique_fd> fd) {
    if (!fd) return lose(fd.error());
    if (l && is_name(to_.address)) watch_name(l, dial_->reached());
    dial_.reset();
    descriptor_.emplace(context_, fd->release());
    if (to_.tls == nullptr) {
      open();
      if (const auto o = listener_.lock()) receive(shared_from_this(), *o);
      return;
    }
    tls_.emplace(to_.tls->current(), to_.address.host);
    if (shake_hands()) receive_encrypted();
  }

  void watch_name(const std::shared_ptr<loop>& l, const socket_address& in_use) {
    name_watch_ = name_watch::start(
        l, {.name = to_.address.host, .in_use = in_use, .every = to_.name_every},
        [node = to_.address](auto found) { look_up(node, std::move(found)); },
        [self = weak_from_this()](const error& why) {
          if (const auto s = self.lock()) s->lose(why);
        });
  }

  void open() {
    opened_ = true;
    {
      const held_mutex hold(mutex_);
      is_open_ = true;
    }
    if (const auto o = listener_.lock()) o->opened();
  }

  // ---- receiving ----

  // Handed from one event to the next, as nothing else keeps it alive between them.
  static void receive(std::shared_ptr<state> self, listener& o) {
    if (self->closed_) return;
    state& s = *self;
    const auto room = o.space();
    s.descriptor_->async_read_some(
        asio::buffer(room.data(), room.size()),
        [self = std::move(self)](const asio::error_code& failed, std::size_t count) mutable {
          took(std::move(self), failed, count);
        });
  }

  static void took(std::shared_ptr<state> self, const asio::error_code& failed, std::size_t count) {
    if (self->closed_) return;
    if (failed) return self->lose_reading(failed);
    self->counters_->reads.fetch_add(1, std::memory_order_relaxed);
    const auto o = self->listener_.lock();
    if (!o) return;
    o->received(count);
    receive_after_this_turn(std::move(self));
  }

  // A read that finds nothing is a system call for nothing, and here it would stand between an
  // answer and who waits for it. When the turn ends, more may have come.
  static void receive_after_this_turn(std::shared_ptr<state> self) {
    if (self->closed_) return;  // Nothing may keep the descriptor behind that.
    auto& context = self->context_;
    asio::post(context, [self = std::move(self)]() mutable {
      if (self->tls_) return self->receive_encrypted();
      if (const auto o = self->listener_.lock()) receive(std::move(self), *o);
    });
  }

  void receive_encrypted() {
    if (closed_) return;
    descriptor_->async_read_some(
        asio::buffer(encrypted_in_),
        [self = shared_from_this()](const asio::error_code& failed, std::size_t count) {
          self->took_encrypted(failed, count);
        });
  }

  void took_encrypted(const asio::error_code& failed, std::size_t count) {
    if (closed_) return;
    if (failed) return lose_reading(failed);
    counters_->reads.fetch_add(1, std::memory_order_relaxed);
    tls_->received({encrypted_in_.data(), count});
    // What belongs to no answer may come later, too; reading takes it.
    if (!opened_ && !shake_hands()) return;
    const bool held_back = opened_ && !tls_->established();
    if (opened_ && !decrypt()) return;
    if (held_back) write_queued();
    receive_after_this_turn(shared_from_this());
  }

  // Until it is opened.
  bool shake_hands() {
    auto went = tls_->shake_hands();
    if (!went) {
      lose(went.error());
      return false;
    }
    if (tls_->established()) open();
    write_queued();
    return !closed_;
  }

  bool decrypt() {
    for (;;) {
      const auto o = listener_.lock();
      if (!o) return false;
      auto count = tls_->read(o->space());
      if (!count) return lose(count.error()), false;
      if (*count == 0) break;
      o->received(*count);
      if (closed_) return false;
    }
    if (tls_->ended()) return lose_reading(asio::error::eof), false;
    return true;
  }

  void lose_reading(const asio::error_code& failed) {
    if (failed == asio::error::eof) {
      return lose(error(errc::unavailable, "the server closed the connection"));
    }
    lose(broken(failed.value()));
  }

  void lose(const error& why) {
    if (closed_) return;
    close();
    if (const auto o = listener_.lock()) o->lost(why);
  }

  // ---- sending ----

  // A posted task runs after the events that are ready already.
  void flush_after_this_turn() {
    if (std::exchange(flush_follows_, true)) return;
    asio::post(context_, [self = shared_from_this()] {
      self->flush_follows_ = false;
      if (self->closed_) return;
      if (const auto o = self->listener_.lock()) o->turn_ends();
      self->write_queued();
    });
  }

  void flush_on_loop() {
    const held_mutex hold(mutex_);
    if (std::exchange(flush_posted_, true)) return;
    asio::post(context_, [self = shared_from_this()] {
      {
        const held_mutex again(self->mutex_);
        self->flush_posted_ = false;
      }
      if (!self->closed_) self->write_queued();
    });
  }

  // One thread writes, the others leave their bytes to it.
  void write_queued() HOLDFAST_EXCLUDES(mutex_) {
    held_mutex hold(mutex_);
    // Whoever writes takes what was queued meanwhile; before it is open only a handshake has bytes.
    if (writing_ || !(is_open_ || tls_)) return;
    writing_ = true;
    while (take_chunk()) {
      // What a system call is given may reach the peer, whatever it returns.
      handed_ = taken_;
      hold.unlock();
      const auto count = ::send(descriptor_->native_handle(), chunk_.data() + chunk_at_,
                                chunk_.size() - chunk_at_, MSG_NOSIGNAL | MSG_DONTWAIT);
      const int number = count < 0 ? errno : 0;
      hold.lock();
      if (number == EINTR) continue;
      if (number == 0) {
        wrote(static_cast<std::size_t>(count));
      } else if (number == EAGAIN || number == EWOULDBLOCK) {
        if (to_.tls == nullptr) handed_ = taken_ - (chunk_.size() - chunk_at_);
        return await_room();  // The writer stays whoever the loop wakes.
      } else {
        return give_up(number);
      }
    }
    writing_ = false;
  }

  // False when there is nothing to send.
  bool take_chunk() HOLDFAST_REQUIRES(mutex_) {
    if (chunk_at_ < chunk_.size()) return true;
    chunk_.clear();
    chunk_at_ = 0;
    // Between two parts of a message that belongs to no answer TLS takes nothing.
    if (is_open_ && !queued_.empty() && (!tls_ || tls_->established())) {
      taken_ += queued_.size();
      if (tls_) {
        static_cast<void>(tls_->write(queued_));  // Its failure shows when reading.
        set_backlog(backlog() - queued_.size());
        queued_.clear();
      } else {
        chunk_.swap(queued_);
      }
    }
    if (tls_) tls_->take_output(chunk_);
    return !chunk_.empty();
  }

  void wrote(std::size_t count) HOLDFAST_REQUIRES(mutex_) {
    counters_->writes.fetch_add(1, std::memory_order_relaxed);
    chunk_at_ += count;
    if (!tls_) set_backlog(backlog() - count);
  }

  // One thread at a time writes it, without a locked instruction: those cost more than all else in
  // append().
  void set_backlog(std::size_t to) noexcept HOLDFAST_REQUIRES(mutex_) {
    backlog_.store(to, std::memory_order_relaxed);
  }

  void await_room() {
    // Only the loop's thread may start to wait; it may be another one that found no room.
    asio::post(context_, [self = shared_from_this()] {
      if (self->closed_) return;
      self->descriptor_->async_wait(socket_descriptor::wait_write,
                                    [self](const asio::error_code& failed) {
                                      if (failed || self->closed_) return;
                                      self->resume_writing();
                                    });
    });
  }

  void resume_writing() {
    {
      const held_mutex hold(mutex_);
      writing_ = false;
    }
    write_queued();
  }

  void give_up(int number) {
    asio::post(context_, [self = shared_from_this(), number] { self->lose(broken(number)); });
  }

  static constexpr std::size_t encrypted_bytes = 16 * 1024;

  asio::io_context& context_;
  const target to_;
  const std::weak_ptr<listener> listener_;
  const std::shared_ptr<counters> counters_;
  bool closed_{false};  // The loop's thread only, as the next nine.
  bool opened_{false};
  bool flush_follows_{false};
  bool found_{false};  ///< Where the name leads, or that it leads nowhere.
  std::uint64_t timer_{0};
  std::shared_ptr<dial> dial_;
  std::shared_ptr<name_watch> name_watch_;
  std::optional<tls_session> tls_;
  std::array<char, encrypted_bytes> encrypted_in_;
  std::optional<socket_descriptor> descriptor_;

  mutable mutex mutex_;
  bool is_open_ HOLDFAST_GUARDED_BY(mutex_){false};
  bool flush_posted_ HOLDFAST_GUARDED_BY(mutex_){false};
  bool writing_ HOLDFAST_GUARDED_BY(mutex_){false};
  std::string queued_ HOLDFAST_GUARDED_BY(mutex_);  ///< Not taken by a writer.
  std::string chunk_;        ///< The writer's, as the next one: who set writing_.
  std::size_t chunk_at_{0};  ///< How much of chunk_ is sent.
  /// Places in the stream of plain bytes, as the next two.
  std::uint64_t appended_ HOLDFAST_GUARDED_BY(mutex_){0};
  std::uint64_t taken_ HOLDFAST_GUARDED_BY(mutex_){0};  ///< From queued_.
  std::uint64_t handed_ HOLDFAST_GUARDED_BY(mutex_){0};
  std::atomic<std::size_t> backlog_{0};
};

stream::stream(std::shared_ptr<state> s) noexcept : state_(std::move(s)) {}

std::shared_ptr<stream> stream::make(const std::shared_ptr<loop>& l, target to,
                                     std::weak_ptr<listener> its_listener,
                                     std::shared_ptr<counters> count) {
  auto s = std::make_shared<state>(l->context(), std::move(to), std::move(its_listener),
                                   std::move(count));
  return std::shared_ptr<stream>(new stream(std::move(s)));
}

void stream::start(const std::shared_ptr<loop>& l) { state_->start(l); }
void stream::close() { state_->close(); }
std::uint64_t stream::append(std::string_view bytes) { return state_->append(bytes); }
std::uint64_t stream::append_all(std::string& bytes) { return state_->append_all(bytes); }
void stream::flush() {
  if (!one_write::gathers()) return state_->flush();
  one_write::add(state_);
}
std::uint64_t stream::appended() const { return state_->appended(); }
std::uint64_t stream::handed() const { return state_->handed(); }
std::size_t stream::backlog() const noexcept { return state_->backlog(); }

}  // namespace holdfast::io
