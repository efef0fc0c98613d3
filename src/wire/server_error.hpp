#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::wire {

/// What a server's error means, told by the first word of its text. Programs decide by this; the
/// text itself is for people, and its wording differs between versions of the server.
enum class server_error : std::uint8_t {
  moved,        ///< MOVED: a node of Redis Cluster that does not own the key.
  ask,          ///< ASK: the same while the key's slot migrates.
  crossslot,    ///< CROSSSLOT: a node of Redis Cluster; the keys are of different slots.
  tryagain,     ///< TRYAGAIN: the same while only some of the keys have migrated.
  clusterdown,  ///< CLUSTERDOWN: Redis Cluster has no majority or not all slots.
  misconf,      ///< MISCONF: it cannot persist and therefore refuses writes.
  oom,          ///< OOM: out of `maxmemory`.
  readonly,     ///< READONLY: a replica.
  loading,      ///< LOADING: it still reads its data from the disk.
  masterdown,   ///< MASTERDOWN: a replica without its master.
  noauth,       ///< NOAUTH: a password is missing.
  noperm,       ///< NOPERM: the ACL user may not run this command or touch this key. For a command
                ///< inside of a script Redis 7.0 says ERR instead.
  wrongpass,    ///< WRONGPASS: user or password are wrong, or the user is off.
  wrongtype,    ///< WRONGTYPE: the key holds another type of value.
  noscript,     ///< NOSCRIPT: EVALSHA of a script that the server does not have.
  busy,         ///< BUSY: a script runs for too long.
  execabort,    ///< EXECABORT: a command of the transaction was refused before.
  unkillable,   ///< UNKILLABLE: the busy script has written, only SHUTDOWN NOSAVE ends it.
  noreplicas,   ///< NOREPLICAS: fewer replicas than `min-replicas-to-write`.
  other,        ///< Every other word, ERR included.
};

/// By the whole first word, which a blank or the end of a line ends: BUSYGROUP is not BUSY.
server_error server_error_of(std::string_view text) noexcept;

/// The word itself: "MOVED", ...; "ERR" for `other`.
std::string_view word_of(server_error e) noexcept;

/// A server's text for a message: its first 200 bytes, without what a terminal would obey.
std::string printable(std::string_view text);

/// Which right of the user is missing, as what to do: "allow +get". Empty when the text is not
/// NOPERM. By the wordings of Redis 6.0 to 7.2 and of holdfast's own scripts, which name the
/// command or say that it is about a key or a channel.
std::string missing_right(std::string_view text);

/// printable(), and behind it what is to be allowed, if that is it; `page` says more about it.
std::string with_missing_right(std::string_view text, std::string_view page);

}  // namespace holdfast::wire
