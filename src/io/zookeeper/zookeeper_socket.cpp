#include "io/zookeeper/zookeeper_socket.hpp"

#include "io/file/unique_fd.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::io {

namespace {

/// Which socket a descriptor is; zero: none.
ino_t inode_of(int fd) {
  struct stat facts {};
  return fd >= 0 && ::fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}

/// A socket whose other end is gone: whoever reads finds the end.
unique_fd ended_socket() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return {};
  ::close(ends[1]);
  return unique_fd(ends[0]);
}

}  // namespace

bool zookeeper_socket::adopt(int fd) {
  const ino_t inode = inode_of(fd);
  if (inode != 0 && inode == inode_ && watched_) return false;
  drop();
  fd_ = fd;
  inode_ = inode;
  if (inode == 0) return true;
  // Debian's build of the library leaves its sockets open across exec.
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  // Of its own, for the library closes its descriptor when it likes.
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return true;
  watched_ = std::make_unique<stream>(context_, copy);
  sight_ = std::make_shared<char>();
  return true;
}

void zookeeper_socket::wait_for(int bytes) const noexcept {
  if (!watched_) return;
  ::setsockopt(watched_->native_handle(), SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

std::optional<std::uint32_t> zookeeper_socket::first_word() const noexcept {
  if (!watched_) return {};
  std::uint32_t word = 0;
  const auto got = ::recv(watched_->native_handle(), &word, sizeof word, MSG_PEEK | MSG_DONTWAIT);
  if (got < static_cast<ssize_t>(sizeof word)) return {};
  return ntohl(word);
}

void zookeeper_socket::hold(bool held) const noexcept {
  const int on = held ? 1 : 0;
  if (watched_) ::setsockopt(watched_->native_handle(), IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}

// The library owns its descriptor, so that a dead socket is put in the place of the live one.
void zookeeper_socket::cut_off() const noexcept {
  const auto dead = ended_socket();
  if (dead && inode_ != 0 && inode_of(fd_) == inode_) ::dup3(dead.get(), fd_, O_CLOEXEC);
}

void zookeeper_socket::drop() {
  sight_.reset();
  watched_.reset();
  inode_ = 0;
  reading_ = writing_ = false;
}

}  // namespace holdfast::io
