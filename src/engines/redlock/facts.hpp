#pragma once

#include "core/redlock/node_record.hpp"
#include "io/redis/redis_handshake.hpp"
#include "wire/reply.hpp"

#include <holdfast/error.hpp>

#include <string_view>

namespace holdfast::engines::redlock::facts {

/// Whether a server can be judged at all: Redis 6.0 or later, and its INFO could be read, without
/// which a restart would not be seen.
/// Errors: `unavailable`, without naming the node.
result<void> check(const io::redis_facts& server);

/// What INFO says about the node. The address, `durable` and the record are not known from it.
core::redlock::node_facts of(const io::redis_facts& server);

/// See io::keeps_every_write(). `config` answers commands::persistence().
bool is_durable(const io::redis_facts& server, const wire::reply& config);
/// See io::keeps_every_write_but_rewrites().
bool is_rewriting(const io::redis_facts& server, const wire::reply& config);

}  // namespace holdfast::engines::redlock::facts
