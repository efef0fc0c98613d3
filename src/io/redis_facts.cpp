#include "io/redis_facts.hpp"

#include "core/server_life.hpp"

#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace holdfast::io {

namespace {

constexpr int version_min = 6;

bool info_says(const redis_facts& server, std::string_view key, std::string_view value) {
  const auto found = server.info.find(key);
  return found != server.info.end() && found->second == value;
}

bool config_says(const wire::reply& config, std::string_view key, std::string_view value) {
  const wire::reply* found = config.find(key);
  return found != nullptr && found->is(wire::reply_kind::text) && found->text == value;
}

}  // namespace

result<void> check_redis(const redis_facts& server, std::string_view engine) {
  if (!server.info_refused.empty()) {
    return error(errc::unavailable, "the server does not say who it is: " + server.info_refused +
                                        "; allow it with ACL SETUSER <user> +info");
  }
  int major{};
  const std::string& v = server.version;
  const auto read = std::from_chars(v.data(), v.data() + v.size(), major);
  if (read.ec != std::errc{} || major < version_min) {
    return error(errc::unavailable, "the server is version '" + v + "'; " + std::string(engine) +
                                        " needs Redis " + std::to_string(version_min) +
                                        ".0 or later");
  }
  if (server.run_id.empty()) {
    return error(errc::unavailable,
                 "INFO has no run_id, without which a restart would not be seen; use a server that "
                 "tells it");
  }
  // Until then it says that its appendonly file is off, and would pass for one that lost its state.
  if (info_says(server, "loading", "1")) {
    return error(errc::unavailable, "the server is loading its data");
  }
  return {};
}

std::string life_of(const redis_facts& server) {
  const auto promoted = server.info.find("second_repl_offset");
  const auto named = server.info.find("master_replid");
  if (promoted == server.info.end() || promoted->second == "-1" || named == server.info.end()) {
    return core::server_life(server.run_id, {});
  }
  return core::server_life(server.run_id, named->second);
}

bool keeps_every_write(const redis_facts& server, const wire::reply& config) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> wanted{{
      {"appendonly", "yes"},
      {"appendfsync", "always"},
      {"no-appendfsync-on-rewrite", "no"},
  }};
  for (const auto& [key, value] : wanted) {
    if (!config_says(config, key, value)) return false;
  }
  // After CONFIG SET appendonly yes nothing is safe before the first rewrite has ended, and INFO
  // does not tell that one from any other. Replicas are copied to behind the answers: what one that
  // was promoted has synced is not all that was answered, and its master's clients may find it
  // next.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> signs{{
      {"connected_slaves", "0"},
      {"second_repl_offset", "-1"},
      {"aof_enabled", "1"},
      {"aof_last_write_status", "ok"},
      {"aof_rewrite_in_progress", "0"},
      {"aof_rewrite_scheduled", "0"},
  }};
  for (const auto& [key, value] : signs) {
    if (!info_says(server, key, value)) return false;
  }
  return true;
}

}  // namespace holdfast::io
