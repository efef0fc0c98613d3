#pragma once

#include "io/redis/redis_handshake.hpp"
#include "wire/reply.hpp"

#include <holdfast/error.hpp>

#include <string>
#include <string_view>

namespace holdfast::io {

/// Whether a server can be judged at all: Redis 6.0 or later, and its INFO could be read, without
/// which a restart would not be seen. `engine` is who needs that, for the message.
/// Errors: `unavailable`, without naming the node.
result<void> check_redis(const redis_facts& server, std::string_view engine);

/// Takes over what a server that check_redis() accepted answers to a later INFO. False: nothing
/// was, for it is no such answer, or names no process that check_redis() would accept.
bool take_later_info(redis_facts& server, const wire::reply& info);

/// 7 of "7.0.15"; zero: it did not say.
int major_version(const redis_facts& server) noexcept;

/// Its role in our words: "replica" where INFO has the older one.
std::string role_of(const redis_facts& server);

/// Its core::server_life(), from INFO.
std::string life_of(const redis_facts& server);

/// Whether whatever is found at this address later has every write that was answered. The server
/// syncs each before it answers (`appendonly yes`, `appendfsync always`, no exception while it
/// rewrites the file, and no sign in INFO that this does not hold yet), and no replica can take its
/// place, or has taken that of its master: those are copied to behind the answers. `config` answers
/// `CONFIG GET *append*`; a user without CONFIG proves nothing.
bool keeps_every_write(const redis_facts& server, const wire::reply& config);

/// Whether it would be true but for a rewrite of the file that is under way or will be: INFO does
/// not tell one of a file that has every write, as servers begin by themselves, from the first one.
bool keeps_every_write_but_rewrites(const redis_facts& server, const wire::reply& config);

}  // namespace holdfast::io
