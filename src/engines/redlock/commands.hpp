#pragma once

#include "core/redlock/rejoin.hpp"
#include "engines/redlock/scripts.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/token.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::engines::redlock {

/// A lock as its key is on the nodes.
struct held_key {
  std::string_view name;
  std::string_view value;
};

/// What this engine sends, each function one command with one answer (replies.hpp reads it); see
/// scripts.hpp for what the scripts do. Appends to `out`, and allocates nothing but what that grows
/// by.
///
/// A ttl that is no whole number of milliseconds is rounded up: a key may outlive its lease, and
/// never the other way round.
namespace commands {

void acquire(std::string& out, std::string_view name, std::string_view value,
             const session_id& session, duration ttl, std::uint64_t hint, std::string_view nonce,
             std::uint64_t epoch);
void raise(std::string& out, std::string_view name, std::string_view value, token to,
           std::string_view nonce, std::uint64_t epoch);
void repair(std::string& out, std::string_view name, std::string_view value,
            const session_id& session, duration ttl, token at_least, std::string_view nonce);
void release(std::string& out, std::string_view name, std::string_view value,
             unsigned database = 0);
/// Whom a release calls.
struct call {
  unsigned seat{};      ///< The next one behind it.
  bool own{};           ///< This client itself sits there.
  bool keep{};          ///< Nobody.
  bool count{};         ///< Where it keeps: the answer says whether others wait.
  unsigned database{};  ///< Those who wait for the lock in this one.
};
void release(std::string& out, std::string_view name, std::string_view value, const call& who);
/// For somebody who was called and does not want it: the next one behind that seat.
void call_next(std::string& out, std::string_view name, unsigned seat, unsigned database = 0);

/// `locks`: up to 100. Gives where in `out` the nonce is: nothing else in it is of one node.
std::size_t renew(std::string& out, const session_id& session, duration ttl, std::string_view nonce,
                  std::span<const held_key> locks);
void open(std::string& out, const session_id& session, duration ttl, std::string_view nonce,
          std::span<const std::pair<std::string_view, std::string_view>> fields);
void close(std::string& out, const session_id& session);
void deny(std::string& out, const session_id& session, std::string_view nonce, std::string_view by,
          std::string_view why);
/// The session's record there.
void session(std::string& out, const session_id& session);
/// Has the server close the connection.
void quit(std::string& out);
/// `cursor`: "0", and then what the last page said.
void list(std::string& out, std::string_view cursor, unsigned count);

void look(std::string& out);
void seal(std::string& out, const core::redlock::seal& s);
void write(std::string& out, const core::redlock::write& w);

/// tokens=off: the published algorithm's own command.
void set_plain(std::string& out, std::string_view name, std::string_view value, duration ttl);
/// tokens=off; `locks`: 1 to 100.
void renew_plain(std::string& out, duration ttl, std::span<const held_key> locks);
/// The same of no lock: whether this user may run scripts there.
void renew_nothing(std::string& out);

/// SCRIPT LOAD.
void load(std::string& out, const script& s);
/// The server's TIME.
void time(std::string& out);
/// The settings that io::keeps_every_write() reads.
void persistence(std::string& out);
/// INFO, whole: a server before 7.0 gives one section or all.
void info(std::string& out);
/// On RESP3 the answer is a push.
void subscribe(std::string& out, std::string_view channel);
void unsubscribe(std::string& out, std::string_view channel);
/// Whether the key is there. Without tokens a user need not have the right to more than GET, whose
/// answer is as long as what a stranger has written there.
void peek(std::string& out, std::string_view name, bool tokens);
/// How long its value is. A stranger's may be longer than any reply that is read.
void size(std::string& out, std::string_view name);
/// The value; only after its size was seen.
void value(std::string& out, std::string_view name);

}  // namespace commands

}  // namespace holdfast::engines::redlock
