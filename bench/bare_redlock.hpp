#pragma once

#include "io/unique_fd.hpp"

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

/// What every client of Redlock must at least do: one connection to each node, epoll, commands of
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

/// A plain lock of the published algorithm, and the same texts that the scripts of the store have.
struct bare_texts {
  /// `tokens`: of a store whose nodes have records; a session is recorded for `session_ttl`.
  bare_texts(bare_nodes& on, bool tokens);

  /// To `node`; with tokens each has its own nonce.
  void acquire(std::string& out, std::size_t node, std::string_view name, std::string_view value,
               std::uint64_t hint) const;
  void release(std::string& out, std::string_view name, std::string_view value) const;
  /// 40 hexadecimal digits, and with tokens the session.
  std::string value(std::uint64_t number) const;

  bool tokens;
  std::string session;
  std::vector<std::string> nonces;
  std::uint64_t epoch{0};
};

/// One attempt at a time: it waits for a majority.
class bare_caller {
 public:
  bare_caller(bare_nodes& on, const bare_texts& texts) : nodes_(on), texts_(texts) {}
  /// False when no majority said yes.
  bool acquire(std::string_view name, std::string_view value);
  bool release(std::string_view name, std::string_view value);

 private:
  bool await_majority();

  bare_nodes& nodes_;
  const bare_texts& texts_;
  std::string bytes_;
  std::uint64_t round_{0};
  std::uint64_t newest_{0};
};

}  // namespace holdfast::bench
