#pragma once

#include "io/redis/redis_facts.hpp"
#include "wire/reply.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::io {

/// Whether a server that syncs its writes would also read them back.
///
/// Redis 7.0 and later, and Valkey, load the append-only file as the default user, whether that is
/// on or off. What a script wrote with more than one command stands there as a transaction, and is
/// dropped where this user may not run all of it (redis/redis#14541, valkey-io/valkey#3983): with
/// `user default off` in an ACL file every restart loses locks, tokens and sessions that were
/// synced. The server's log says so, its answers do not.
///
/// So the server is asked, by ACL DRYRUN, which tells and changes nothing.
class redis_reload {
 public:
  /// Whether it has to be asked. Also by who logs in as the default user, where others write keys
  /// that this one does not.
  static bool is_in_doubt(const redis_facts& server);

  /// Commands with an answer each, of all that scripts of holdfast leave in the file. `key`: one of
  /// those that are written.
  static std::vector<std::string> questions(std::string_view key);

  /// One of the answers. Every one has to be OK.
  void answered(const wire::reply& answer);
  /// One of them did not come.
  void not_answered();

  /// What it said instead, and what to do; empty while every answer was OK.
  const std::string& objection() const noexcept { return objection_; }

 private:
  std::string objection_{};
};

}  // namespace holdfast::io
