#include "io/redis/redis_reload.hpp"

#include "wire/resp_writer.hpp"
#include "wire/server_error.hpp"

namespace holdfast::io {

namespace {

constexpr int first_that_drops = 7;

template <class... Arguments>
void add(std::vector<std::string>& to, std::string_view command, const Arguments&... arguments) {
  wire::resp_writer(to.emplace_back()).command("ACL", "DRYRUN", "default", command, arguments...);
}

}  // namespace

bool redis_reload::is_in_doubt(const redis_facts& server) {
  return major_version(server) >= first_that_drops;
}

std::vector<std::string> redis_reload::questions(std::string_view key) {
  std::vector<std::string> all;
  add(all, "SET", key, "v");
  add(all, "DEL", key);
  add(all, "UNLINK", key);
  add(all, "PEXPIREAT", key, "1");
  add(all, "HSET", key, "f", "v");
  add(all, "HDEL", key, "f");
  add(all, "HINCRBY", key, "f", "1");
  add(all, "SADD", key, "m");
  add(all, "SREM", key, "m");
  add(all, "ZADD", key, "1", "m");
  add(all, "ZREM", key, "m");
  add(all, "RPUSH", key, "v");
  add(all, "LPOP", key);
  return all;
}

void redis_reload::not_answered() {
  if (objection_.empty()) objection_ = "it did not answer ACL DRYRUN";
}

void redis_reload::answered(const wire::reply& answer) {
  if (answer.is_ok() || !objection_.empty()) return;
  if (answer.is(wire::reply_kind::text)) {
    objection_ =
        "when it restarts it drops what scripts wrote, for it loads its file as its default user, "
        "of whom it says '" +
        wire::printable(answer.text) +
        "'. ACL SETUSER default ~* &* +@all, and the same in its ACL file; that user may stay off";
    return;
  }
  objection_ =
      "it does not tell whether its default user, as whom it loads its file, may write it: " +
      std::string("ACL DRYRUN: ") + wire::printable(answer.text) + ". Allow +acl|dryrun";
}

}  // namespace holdfast::io
