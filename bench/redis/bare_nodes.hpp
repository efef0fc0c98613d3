#pragma once

#include "io/file/unique_fd.hpp"

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

/// What every client of such servers must at least do: one connection to each, epoll, commands of
/// one turn in one write, and no more of an answer read than whether it says yes.
class bare_nodes {
 public:
  struct answer {
    std::uint64_t tag{};
    std::size_t node{};
    bool yes{};
    std::uint64_t number{};  ///< The first integer of the answer.
  };

  explicit bare_nodes(const std::vector<int>& ports);

  std::size_t size() const noexcept { return nodes_.size(); }
  std::size_t majority() const noexcept { return nodes_.size() / 2 + 1; }
  /// Sends one command and waits for the whole answer; nothing else may be under way.
  std::string ask(std::size_t node, std::string_view bytes);
  /// Leaves with the next flush().
  void queue(std::size_t node, std::string_view bytes, std::uint64_t tag);
  void queue_all(std::string_view bytes, std::uint64_t tag) {
    for (std::size_t i = 0; i < size(); ++i) queue(i, bytes, tag);
  }
  void flush();
  /// Waits for something and calls `f(answer)` for each answer that is there.
  template <class F>
  void turn(F f) {
    epoll_event ready[8];
    const int n = ::epoll_wait(epoll_.get(), ready, 8, -1);
    for (int i = 0; i < n; ++i) {
      const std::size_t at = ready[i].data.u32;
      receive(at);
      answer a;
      while (next(at, a)) f(a);
    }
  }
  /// Writes and reads.
  std::uint64_t calls() const noexcept { return calls_; }

 private:
  struct node {
    io::unique_fd fd;
    std::string out;
    std::vector<char> in = std::vector<char>(256 * 1024);
    std::size_t begin{0};
    std::size_t end{0};
    std::deque<std::uint64_t> tags;
  };

  void receive(std::size_t at);
  bool next(std::size_t at, answer& a);

  std::vector<node> nodes_;
  io::unique_fd epoll_;
  std::uint64_t calls_{0};
};

/// The text of a bulk string that ask() answered.
std::string text_of(const std::string& reply);

/// A number of the first server's INFO; `field` is followed by ":" or "=". Zero: it is not there.
double info(bare_nodes& connection, std::string_view section, const std::string& field);

}  // namespace holdfast::bench
