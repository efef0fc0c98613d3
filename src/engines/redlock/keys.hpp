#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::engines::redlock {

/// No lock name may begin with it on this engine.
inline constexpr std::string_view reserved_prefix{"holdfast:"};

/// The node record, a hash without a ttl:
///
/// | field       | value                                                                       |
/// |-------------|-----------------------------------------------------------------------------|
/// | id          | of the node, given once; two nodes never share one                          |
/// | nonce       | of this life of the node's data: every loss of state gets a new one         |
/// | epoch       | 0: it waits, no script grants or extends                                    |
/// | run_id      | of the process that was admitted                                            |
/// | floor       | no counter of any lock was above it                                         |
/// | max_ttl     | milliseconds                                                                |
/// | last_time   | microseconds: the largest TIME at which a script wrote                      |
/// | config_hash | of the list of nodes                                                        |
/// | durable     | 1 when it was verified to sync every write, else 0                          |
/// | kept_epoch  | in epoch 0 after a step of its clock alone: the epoch before it; else 0     |
inline constexpr std::string_view node_key{"holdfast:node"};

inline constexpr std::string_view token_prefix{"holdfast:token:"};
inline constexpr std::string_view session_prefix{"holdfast:session:"};
inline constexpr std::string_view free_prefix{"holdfast:free:"};
inline constexpr char scope_mark{'@'};
inline constexpr std::string_view everybody{"all"};

/// What a name's counter is kept in while it is used, a string `epoch:token`. It lives for twice
/// max_ttl from the last grant or extension; losing it earlier is harmless.
std::string token_key(std::string_view lock);

/// The record of one session on one node, a hash that lives for the session's ttl from its opening
/// or its last renewal there, and for max_ttl * (1 + rho) + margin once it is denied:
/// `denied` (0 or 1), `denied_by`, `denied_why`, `ttl` (milliseconds), and what open() was given.
/// A denied one may consist of the first three only.
std::string session_key(std::string_view id);

/// The value of a lock: 20 random bytes in hexadecimal digits, and with tokens a point and the id
/// of the session.
inline constexpr std::size_t plain_value_bytes{40};
inline constexpr std::size_t value_bytes{73};

/// Whoever waits for a lock hears two channels of it: this one, by which a release knows that there
/// is somebody, and which it uses where it may not count who hears what; and that of a seat. The
/// message is a hint, and the lock may be taken when it comes.
///
/// A server has its channels for all of its databases, where the same name is another lock: those
/// of another database than 0 have its scope in front, between the prefix and the seat.
std::string free_channel(std::string_view lock, unsigned database = 0);

/// A client that waits sits on one of these, so that a release can call one client and not all.
inline constexpr unsigned seats{64};

std::string seat_channel(std::string_view lock, unsigned seat, unsigned database = 0);

/// `@N:`; empty for database 0.
std::string scope_of(unsigned database);

}  // namespace holdfast::engines::redlock
