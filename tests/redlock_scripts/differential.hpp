#pragma once

#include "sim/redlock/node.hpp"
#include "tests/redlock_scripts/node.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace holdfast::redis_tests {

/// One operation of a sequence that a real node and the simulator's must answer alike.
struct operation {
  enum class kind : std::uint8_t {
    acquire,
    raise,
    repair,
    release,
    renew,
    renew_plain,
    open,
    close,
    deny,
    look,
    seal,
    write,
    acquire_plain,
    expire_lock,     ///< An acquire with a short ttl, and its end.
    expire_session,  ///< The same with a session.
    forget_counter,
    remove,
    put_foreign,
    set_clock_back,  ///< The record's last TIME becomes one of the future.
    flush,
  };
  static constexpr int kinds = static_cast<int>(kind::flush) + 1;

  kind what{};
  std::uint32_t lock{};
  std::uint32_t session{};
  std::uint64_t value{};
  std::uint64_t token{};
  std::uint64_t hint{};
  std::uint64_t epoch{};
  std::string nonce{};
  std::uint64_t new_epoch{};  ///< seal, write
  std::string new_nonce{};    ///< write
  int ttl{};
};

std::ostream& operator<<(std::ostream& out, const operation& o);

/// The operations of one seed; the first one admits the node.
std::vector<operation> sequence(std::uint64_t seed, std::size_t length);

/// Does the same to both, and puts each answer into the same words, without times.
class twins {
 public:
  explicit twins(node& real) : real_(real) {}

  /// The first operation whose answers differ, and how; -1 when none does.
  struct difference {
    int at{-1};
    std::string real{};
    std::string simulated{};
  };
  difference run(const std::vector<operation>& all);

 private:
  std::string of_real(const operation& o);
  std::string of_simulated(const operation& o);
  std::string change_real(const operation& o);
  std::string change_simulated(const operation& o);
  void follow_time();

  node& real_;
  sim::redlock::node simulated_{};
};

}  // namespace holdfast::redis_tests
