#pragma once

#include "core/store_url.hpp"
#include "io/redis/redis_handshake.hpp"

#include <holdfast/error.hpp>

#include <cstdint>
#include <string>

/// What the URLs of all stores on Redis have in common. Reads the password file; connects
/// to nothing. Errors: `invalid_argument`, with what to correct.
namespace holdfast::io::redis_url {

inline constexpr std::uint16_t default_port = 6379;

/// True for `on`, false for `off`, `otherwise` when the key is absent.
result<bool> one_of(const core::store_url& url, const char* key, const char* on, const char* off,
                    bool otherwise);
/// A decimal number up to `most`; `what` names it in the error.
result<std::uint64_t> number(const std::string& text, const char* what, std::uint64_t most);

/// The user, the password or `password_file`, and the database behind the nodes.
result<redis_login> login_of(const core::store_url& url);
/// For another connection while the program runs: with the password that its file has now.
redis_login login_again(redis_login last);

}  // namespace holdfast::io::redis_url
