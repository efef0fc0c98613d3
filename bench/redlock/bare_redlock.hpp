#pragma once

#include "bench/redis/bare_nodes.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

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
