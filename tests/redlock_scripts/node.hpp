#pragma once

#include "engines/redlock/scripts.hpp"
#include "tests/redis_server/connection.hpp"
#include "tests/redis_server/server.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::redis_tests {

namespace redlock = engines::redlock;
namespace scripts = engines::redlock::scripts;
namespace refusal = engines::redlock::refusal;

inline constexpr std::uint64_t token_max = 4'503'599'627'370'495;

/// An attempt's value: 40 hexadecimal digits that end with `number`.
std::string value(int number);

/// A real server with the scripts, and their arguments by name, with defaults that are right for
/// a node that init() wrote.
///
/// acquire() and repair() answer with the counter alone when they succeed, else with an array of
/// the milliseconds left; renew() with the text alone.
struct node {
  struct acquire_arguments {
    std::string hint{"0"};
    std::string ttl{"10000"};
    std::string nonce{"life-1"};
    std::string epoch{"1"};
    std::string session{"5e55"};
  };
  struct record {
    std::string seen_nonce{};
    std::string seen_epoch{"0"};
    std::string id{"node-1"};
    std::string nonce{"life-1"};
    std::string epoch{"1"};
    std::string run_id{"run-1"};
    std::string floor{"0"};
    std::string max_ttl{"60000"};
    std::string config_hash{"cafe"};
    std::string durable{"0"};
    std::string kept_epoch{"0"};
  };

  explicit node(server::options o = {}) : of(std::move(o)) {}

  /// EVALSHA, loaded first where the server does not know it.
  answer run(const redlock::script& s, const std::vector<std::string>& keys,
             const std::vector<std::string>& arguments);
  answer run(connection& by, const redlock::script& s, const std::vector<std::string>& keys,
             const std::vector<std::string>& arguments);
  answer command(const std::vector<std::string>& parts) { return of.command(parts); }

  answer write(const record& r);
  /// An admitted node with a session.
  void init(const record& r);
  void init() { init(record{}); }
  answer acquire(const std::string& lock, const std::string& value, const acquire_arguments& a);
  answer acquire(const std::string& lock, const std::string& value) {
    return acquire(lock, value, acquire_arguments{});
  }
  answer raise(const std::string& lock, const std::string& value, std::uint64_t token,
               const std::string& nonce = "life-1", const std::string& epoch = "1");
  answer repair(const std::string& lock, const std::string& value, std::uint64_t token,
                const acquire_arguments& a);
  answer repair(const std::string& lock, const std::string& value, std::uint64_t token) {
    return repair(lock, value, token, acquire_arguments{});
  }
  answer release(const std::string& lock, const std::string& value);
  answer renew(const std::vector<std::pair<std::string, std::string>>& locks,
               const acquire_arguments& a);
  answer renew(const std::vector<std::pair<std::string, std::string>>& locks) {
    return renew(locks, acquire_arguments{});
  }
  answer open(const std::string& session, const acquire_arguments& a);
  answer open(const std::string& session) { return open(session, acquire_arguments{}); }
  answer close(const std::string& session);
  answer deny(const std::string& session, const std::string& nonce = "life-1");
  answer look();
  answer seal(const std::string& epoch, const std::string& nonce = "life-1");

  /// One field of the node record.
  std::string field(const std::string& name);
  void set_field(const std::string& name, const std::string& to);
  std::uint64_t floor() { return std::stoull(field("floor")); }
  std::int64_t left(const std::string& key) { return command({"PTTL", key}).integer; }

  server of;
};

}  // namespace holdfast::redis_tests
