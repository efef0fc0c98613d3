#pragma once

#include "wire/reply.hpp"

#include <holdfast/error.hpp>

#include <map>
#include <string>
#include <string_view>

namespace holdfast::io {

/// Who connects, and to which database.
struct redis_login {
  std::string user{};  ///< Empty: the default user.
  std::string password{};
  std::string client_name{};  ///< For CLIENT LIST; empty: none.
  unsigned database{};
  std::string password_file{};  ///< Where the password is; empty: in the URL, or there is none.
  std::string scheme{"redis"};  ///< Of the URL, for advice.
};

/// What a server says about itself before anything else is sent to it.
struct redis_facts {
  int protocol{};       ///< 2 or 3.
  std::string version;  ///< "7.0.15"; empty: it did not say, as the next three.
  std::string mode;     ///< "standalone", "cluster" or "sentinel".
  std::string role;     ///< "master", "slave" or "sentinel", as INFO says it.
  std::string run_id;   ///< Differs after every start of the server.
  std::map<std::string, std::string, std::less<>> info;  ///< All of INFO.
  std::string info_refused;  ///< What INFO was refused with; empty when it was answered.
};

/// Takes the answer to INFO over; what it does not say stays as it was.
void take_info(redis_facts& server, const wire::reply& info);

/// The first commands of a connection: HELLO 3 with the password, or AUTH where the server knows no
/// HELLO, then SELECT, CLIENT SETNAME and INFO. Pure: bytes and replies, no socket.
///
/// What a server answers to HELLO and AUTH is never shown: old servers repeat the password in it.
class redis_handshake {
 public:
  explicit redis_handshake(redis_login login) : login_(std::move(login)) {}

  /// What to send first.
  std::string start();
  /// Takes the answers in order and says what to send next, if anything.
  /// Errors: `unavailable`, without naming the node; for an operator where the login was refused.
  result<std::string> on_reply(const wire::reply& r);
  bool begun() const noexcept { return step_ != step::idle; }
  bool done() const noexcept { return step_ == step::done; }
  const redis_facts& facts() const noexcept { return facts_; }
  /// Why the database cannot be used, told after facts(): a sentinel or a node of Redis Cluster
  /// refuses SELECT, and whoever reads the facts can say it better.
  const result<void>& selected() const noexcept { return selected_; }

 private:
  enum class step { idle, hello, auth, select, name, info, done };

  result<std::string> on_hello(const wire::reply& r);
  result<std::string> on_auth(const wire::reply& r);
  void on_select(const wire::reply& r);
  void on_info(const wire::reply& r);
  std::string introduce();
  error refused(const wire::reply& r) const;
  step after(step s) const;

  redis_login login_;
  step step_{step::idle};
  redis_facts facts_;
  result<void> selected_;
};

}  // namespace holdfast::io
