#pragma once

#include "io/redis/redis_reload.hpp"
#include "io/redis/redis_script.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::io {

/// Which commands scripts may leave in the append-only file, for whose replay no question asks.
inline std::set<std::string> written_and_not_asked(std::span<const redis_script* const> all) {
  // These leave nothing there.
  static const std::set<std::string_view> others{
      "exists",   "get",           "hexists", "hget",   "hgetall",      "hlen",  "hmget",
      "hscan",    "lindex",        "lrange",  "mget",   "pttl",         "scan",  "publish",
      "pubsub",   "pubsub|numsub", "scard",   "time",   "srandmember",  "sscan", "strlen",
      "smembers", "zcard",         "zcount",  "zrange", "zrangebyscore"};
  const std::vector<std::string> questions = redis_reload::questions("key");
  std::set<std::string> missing;
  for (const redis_script* script : all) {
    for (const std::string_view command : script->commands) {
      if (others.contains(command)) continue;
      // A time from now on stands there as the time itself.
      std::string stored(command == "pexpire" ? "pexpireat" : command);
      std::ranges::transform(stored, stored.begin(),
                             [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      const std::string asks = "\r\ndefault\r\n$" + std::to_string(stored.size()) + "\r\n" + stored;
      const auto is_of_it = [&](const std::string& q) {
        return q.find(asks + "\r\n") != std::string::npos;
      };
      if (std::ranges::none_of(questions, is_of_it)) missing.insert(stored);
    }
  }
  return missing;
}

}  // namespace holdfast::io
