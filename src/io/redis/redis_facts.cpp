#include "io/redis/redis_facts.hpp"

#include "core/server_life.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

namespace holdfast::io {

namespace {

constexpr int version_min = 6;

/// `missing`: what it counts as when the server does not tell.
bool info_says(const redis_facts& server, std::string_view key, std::string_view value,
               std::string_view missing = {}) {
  const auto found = server.info.find(key);
  return (found == server.info.end() ? missing : found->second) == value;
}

bool config_says(const wire::reply& config, std::string_view key, std::string_view value) {
  const wire::reply* found = config.find(key);
  return found != nullptr && found->is(wire::reply_kind::text) && found->text == value;
}

/// All that keeps_every_write() asks for but what a rewrite of the file says.
bool is_set_to_keep(const redis_facts& server, const wire::reply& config) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> wanted{{
      {"appendonly", "yes"},
      {"appendfsync", "always"},
      {"no-appendfsync-on-rewrite", "no"},
  }};
  for (const auto& [key, value] : wanted) {
    if (!config_says(config, key, value)) return false;
  }
  // Replicas are copied to behind the answers: what one that was promoted has synced is not all
  // that was answered, and its master's clients may find it next.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> signs{{
      {"connected_slaves", "0"},
      {"second_repl_offset", "-1"},
      {"aof_enabled", "1"},
      {"aof_last_write_status", "ok"},
  }};
  for (const auto& [key, value] : signs) {
    if (!info_says(server, key, value)) return false;
  }
  return true;
}

enum class file_state : std::uint8_t { unknown, settled, rewritten };

/// After CONFIG SET appendonly yes nothing is safe before the first rewrite has ended, and INFO
/// does not tell that one from any other.
file_state file_of(const redis_facts& server) {
  auto state = file_state::settled;
  for (const char* sign : {"aof_rewrite_in_progress", "aof_rewrite_scheduled"}) {
    if (info_says(server, sign, "0")) continue;
    if (!info_says(server, sign, "1")) return file_state::unknown;
    state = file_state::rewritten;
  }
  return state;
}

/// It is kept in records and notes, and compared: of any other form it could pass for several
/// words.
bool is_run_id(const std::string& text) {
  constexpr std::size_t longest = 128;
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

bool is_renamed(std::string_view refused) { return refused.starts_with("ERR unknown command"); }

bool is_forbidden(std::string_view refused) {
  return wire::server_error_of(refused) == wire::server_error::noperm;
}

bool is_for_a_person(std::string_view refused) {
  return is_renamed(refused) || is_forbidden(refused);
}

std::string advice_on_info(std::string_view refused) {
  if (is_forbidden(refused)) return "allow it with ACL SETUSER <user> +info";
  if (is_renamed(refused)) {
    return "INFO was renamed or disabled there (rename-command), and is needed to see a restart; "
           "give it its name back";
  }
  return "each new connection asks again";
}

}  // namespace

result<void> check_redis(const redis_facts& server, std::string_view engine) {
  if (!server.info_refused.empty()) {
    std::string text = "the server does not say who it is: INFO: " + server.info_refused + "; " +
                       advice_on_info(server.info_refused);
    return is_for_a_person(server.info_refused)
               ? error::for_operator(errc::unavailable, std::move(text))
               : error(errc::unavailable, std::move(text));
  }
  if (major_version(server) < version_min) {
    return error(errc::unavailable, "the server is version '" + server.version + "'; " +
                                        std::string(engine) + " needs Redis " +
                                        std::to_string(version_min) + ".0 or later");
  }
  if (!is_run_id(server.run_id)) {
    return error(errc::unavailable,
                 std::string("INFO has no run_id") + (server.run_id.empty() ? "" : " that is one") +
                     ", without which a restart would not be seen; use a server that tells it");
  }
  // Until then it says that its appendonly file is off, and would pass for one that lost its state.
  if (info_says(server, "loading", "1")) {
    return error(errc::unavailable, "the server is loading its data");
  }
  return {};
}

bool take_later_info(redis_facts& server, const wire::reply& info) {
  if (!info.is(wire::reply_kind::text)) return false;
  redis_facts later = server;
  take_info(later, info);
  if (!is_run_id(later.run_id)) return false;
  server = std::move(later);
  return true;
}

int major_version(const redis_facts& server) noexcept {
  int major{};
  const std::string& v = server.version;
  std::from_chars(v.data(), v.data() + v.size(), major);
  return major;
}

std::string role_of(const redis_facts& server) {
  return server.role == "slave" ? "replica" : server.role;
}

std::string life_of(const redis_facts& server) {
  const auto named = server.info.find("master_replid");
  const bool promoted = !info_says(server, "second_repl_offset", "-1", "-1");
  // That is forgotten an hour after its last replica has left; what it read as a replica is not.
  const bool copied = !info_says(server, "total_net_repl_input_bytes", "0", "0");
  const bool has_name = named != server.info.end() && is_run_id(named->second);
  return core::server_life(server.run_id, has_name && (promoted || copied) ? named->second : "");
}

bool keeps_every_write(const redis_facts& server, const wire::reply& config) {
  return is_set_to_keep(server, config) && file_of(server) == file_state::settled;
}

bool keeps_every_write_but_rewrites(const redis_facts& server, const wire::reply& config) {
  return file_of(server) == file_state::rewritten && is_set_to_keep(server, config);
}

}  // namespace holdfast::io
