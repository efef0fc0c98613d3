#include "io/redis/redis_handshake.hpp"

#include "core/assert.hpp"
#include "wire/resp_writer.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::io {

namespace {

using wire::printable;
using wire::reply_kind;
using wire::server_error;

std::string text_at(const wire::reply& r, std::string_view key) {
  const wire::reply* found = r.find(key);
  return found == nullptr ? std::string() : found->text;
}

// Lines of "key:value", and of "# Section".
std::map<std::string, std::string, std::less<>> lines_of(std::string_view text) {
  std::map<std::string, std::string, std::less<>> all;
  while (!text.empty()) {
    const auto end = std::min(text.find("\r\n"), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 2, text.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || line.starts_with('#')) continue;
    all.emplace(line.substr(0, colon), line.substr(colon + 1));
  }
  return all;
}

std::string value_in(const std::map<std::string, std::string, std::less<>>& all,
                     std::string_view key, const std::string& otherwise) {
  const auto found = all.find(key);
  return found == all.end() ? otherwise : found->second;
}

}  // namespace

std::string redis_handshake::start() {
  step_ = step::hello;
  std::string out;
  wire::resp_writer to(out);
  if (login_.password.empty()) {
    to.command("HELLO", 3);
  } else {
    to.command("HELLO", 3, "AUTH", login_.user.empty() ? "default" : login_.user, login_.password);
  }
  return out;
}

result<std::string> redis_handshake::on_reply(const wire::reply& r) {
  HOLDFAST_ASSERT(begun() && !done());
  const bool wants_password =
      r.is(reply_kind::error) && wire::server_error_of(r.text) == server_error::noauth;
  if (wants_password) return refused(r);
  switch (step_) {
    case step::hello:
      return on_hello(r);
    case step::auth:
      return on_auth(r);
    case step::select:
      on_select(r);
      break;
    case step::info:
      on_info(r);
      break;
    case step::name:  // For people who read CLIENT LIST only: a refusal changes nothing.
    case step::idle:
    case step::done:
      break;
  }
  step_ = after(step_);
  return std::string();
}

result<std::string> redis_handshake::on_hello(const wire::reply& r) {
  if (r.is(reply_kind::map) || r.is(reply_kind::array)) {
    facts_.protocol = 3;
    facts_.version = text_at(r, "version");
    facts_.mode = text_at(r, "mode");
    facts_.role = text_at(r, "role");
    step_ = after(step::auth);
    return introduce();
  }
  if (!r.is(reply_kind::error)) {
    return error(errc::unavailable, std::string("the answer to HELLO is ") + wire::name_of(r.kind) +
                                        ", not a map: it is no Redis server");
  }
  if (wire::server_error_of(r.text) == server_error::wrongpass) return refused(r);
  // What it says before it closes: neither is an answer to HELLO, and neither repeats it.
  if (r.text.starts_with("DENIED") || r.text.starts_with("ERR max number of clients")) {
    return error(errc::unavailable, "the server takes no connection: " + printable(r.text));
  }
  // Before Redis 6, or a server or proxy that speaks RESP2 only.
  facts_.protocol = 2;
  if (login_.password.empty()) {
    step_ = after(step::auth);
    return introduce();
  }
  step_ = step::auth;
  std::string out;
  wire::resp_writer to(out);
  if (login_.user.empty()) {
    to.command("AUTH", login_.password);
  } else {
    to.command("AUTH", login_.user, login_.password);
  }
  return out;
}

result<std::string> redis_handshake::on_auth(const wire::reply& r) {
  if (!r.is_ok()) return refused(r);
  step_ = after(step::auth);
  return introduce();
}

void redis_handshake::on_select(const wire::reply& r) {
  if (r.is_ok()) return;
  const bool for_user = wire::server_error_of(r.text) == wire::server_error::noperm;
  selected_ = error::for_operator(errc::unavailable,
                                  "database " + std::to_string(login_.database) +
                                      " cannot be selected: " + printable(r.text) + "; " +
                                      (for_user ? "allow it with ACL SETUSER <user> +select"
                                                : "use a number below `databases` of the server"));
}

void redis_handshake::on_info(const wire::reply& r) {
  if (!r.is(reply_kind::text)) {
    facts_.info_refused = printable(r.text);
    return;
  }
  facts_.run_id.clear();
  if (facts_.role == "replica") facts_.role = "slave";
  take_info(facts_, r);
}

void take_info(redis_facts& server, const wire::reply& info) {
  server.info = lines_of(info.text);
  server.version = value_in(server.info, "redis_version", server.version);
  server.mode = value_in(server.info, "redis_mode", server.mode);
  server.role = value_in(server.info, "role", server.role);
  server.run_id = value_in(server.info, "run_id", server.run_id);
}

redis_handshake::step redis_handshake::after(step s) const {
  switch (s) {
    case step::hello:
    case step::auth:
      if (login_.database != 0) return step::select;
      [[fallthrough]];
    case step::select:
      if (!login_.client_name.empty()) return step::name;
      [[fallthrough]];
    case step::name:
      return step::info;
    case step::info:
    case step::idle:
    case step::done:
      break;
  }
  return step::done;
}

std::string redis_handshake::introduce() {
  std::string out;
  wire::resp_writer to(out);
  if (login_.database != 0) to.command("SELECT", login_.database);
  if (!login_.client_name.empty()) to.command("CLIENT", "SETNAME", login_.client_name);
  to.command("INFO");
  return out;
}

error redis_handshake::refused(const wire::reply& r) const {
  const std::string who =
      login_.user.empty() ? "the default user" : "user '" + printable(login_.user) + "'";
  // A server with ACL users mostly has its default user off.
  const std::string or_name_one =
      login_.user.empty() ? "; if the server has a user of its own for holdfast, the URL has to "
                            "name it: " +
                                login_.scheme + "://USER@HOST?password_file=/PATH"
                          : "";
  const auto why = wire::server_error_of(r.text);
  switch (why) {
    case server_error::noauth:
      return error::for_operator(errc::unavailable,
                                 "the server wants a password (NOAUTH) and none is set for " + who +
                                     "; give it by password_file=" + or_name_one);
    case server_error::wrongpass:
      return error::for_operator(errc::unavailable,
                                 "the password of " + who +
                                     " is wrong, or this user is off or not there "
                                     "(WRONGPASS); check password_file= and the "
                                     "server's ACL" +
                                     or_name_one);
    default:
      break;
  }
  const bool has_none = r.text.find("without any password") != std::string::npos;
  std::string text =
      has_none ? "a password is set for " + who + ", but the server has none"
               : "the server refuses AUTH for " + who + " with " + std::string(wire::word_of(why)) +
                     "; check the password (password_file= or the URL) and the server's ACL";
  // Before Redis 6 a wrong password has no word of its own; what has one passes, LOADING say.
  return why == server_error::other ? error::for_operator(errc::unavailable, std::move(text))
                                    : error(errc::unavailable, std::move(text));
}

}  // namespace holdfast::io
