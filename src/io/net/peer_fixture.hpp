#pragma once

#include "io/file/unique_fd.hpp"
#include "io/net/node_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace holdfast::io {

/// A server of the test's own making: each connection is given to `serve`, one after the other.
class peer {
 public:
  /// One accepted connection.
  class client {
   public:
    explicit client(int fd) : fd_(fd) {}
    /// What came next; empty at the end, or after 10 s.
    std::string read() const {
      pollfd wanted{.fd = fd_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&wanted, 1, 10'000) <= 0) return {};
      char bytes[65536];
      const auto count = ::recv(fd_.get(), bytes, sizeof bytes, 0);
      return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string();
    }
    void write(std::string_view bytes) const {
      static_cast<void>(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    }
    /// Answers the handshake like Redis 7, or like Redis 5.
    bool greet(bool resp3 = true) const {
      if (read().find("HELLO") == std::string::npos) return false;
      if (resp3) {
        write("%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n");
      } else {
        write("-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n");
      }
      if (read().find("INFO") == std::string::npos) return false;
      write("$11\r\nrole:master\r\n");
      return true;
    }
    /// The kernel keeps little of what comes for us.
    void take_little() const {
      const int bytes = 64 * 1024;
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    /// Whether the other end ends the connection within 10 s, and says nothing before.
    bool is_left() const {
      pollfd wanted{.fd = fd_.get(), .events = POLLIN, .revents = 0};
      return ::poll(&wanted, 1, 10'000) == 1 && read().empty();
    }
    int descriptor() const { return fd_.get(); }
    /// Ends the connection now, not behind all else.
    void leave() const { fd_ = unique_fd(); }
    /// Resets the connection instead of closing it.
    void reset() const {
      const linger at_once{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }

   private:
    mutable unique_fd fd_;
  };

  /// Port 0: one that is free.
  explicit peer(std::function<void(const client&, int)> serve, const char* host = "127.0.0.1",
                std::uint16_t port = 0)
      : serve_(std::move(serve)) {
    listener_ = unique_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    ::inet_pton(AF_INET, host, &at.sin_addr);
    socklen_t size = sizeof at;
    ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), size);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &size);
    ::listen(listener_.get(), 16);
    address_ = {.host = host, .port = ntohs(at.sin_port), .path = {}};
    thread_ = std::thread([this] { run(); });
  }
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;
  ~peer() {
    stop_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  const node_address& address() const { return address_; }

 private:
  void run() {
    for (int number = 0; !stop_; ++number) {
      const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      serve_(client(fd), number);
    }
  }

  std::function<void(const client&, int)> serve_;
  unique_fd listener_;
  node_address address_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace holdfast::io
