#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace holdfast::io {

/// The socket of ZooKeeper's client library, which opens and closes it when it likes: what is
/// waited for is a duplicate, and the library's own descriptor is touched only while it still is
/// the socket that was seen.
///
/// Thread safety: the loop's thread only.
class zookeeper_socket {
 public:
  using stream = asio::posix::stream_descriptor;

  explicit zookeeper_socket(asio::io_context& c) noexcept : context_(c) {}
  zookeeper_socket(const zookeeper_socket&) = delete;
  zookeeper_socket& operator=(const zookeeper_socket&) = delete;

  /// The library's descriptor as it is now; negative: none. True: it is another socket than was
  /// seen last, or none, and nothing that was waited for happens any more.
  bool adopt(int fd);
  /// There is one, and it was not cut off.
  bool is_live() const noexcept { return inode_ != 0; }

  /// Calls `then` once when it can be read, or written; not while the same is waited for already.
  template <class Then>
  void await(stream::wait_type what, Then then) {
    bool& waits = what == stream::wait_read ? reading_ : writing_;
    if (!watched_ || std::exchange(waits, true)) return;
    watched_->async_wait(what, [seen = std::weak_ptr(sight_), &waits,
                                then = std::move(then)](const asio::error_code& failed) {
      // As long as the sight is there this is, too.
      if (failed || seen.expired()) return;
      waits = false;
      then();
    });
  }
  /// Fewer bytes than that are no reason to read, but for the end.
  void wait_for(int bytes) const noexcept;
  /// The first four unread bytes, a number of the network's; nothing when they have not come.
  std::optional<std::uint32_t> first_word() const noexcept;
  /// While held the kernel collects what is sent.
  void hold(bool held) const noexcept;

  /// The library finds the end, when it reads, and the peer hears nothing of that.
  void cut_off() const noexcept;
  /// Nothing happens to it any more.
  void drop();
  /// In a forked child the duplicate is what the parent waits for: it is left alone.
  void leave_to_parent() noexcept { static_cast<void>(watched_.release()); }

 private:
  asio::io_context& context_;
  int fd_{-1};  ///< The library's; only ours to touch while inode_ says that it is the same.
  ino_t inode_{};
  std::unique_ptr<stream> watched_;
  std::shared_ptr<char> sight_;  ///< There until another one is adopted, or none.
  bool reading_{};
  bool writing_{};
};

}  // namespace holdfast::io
