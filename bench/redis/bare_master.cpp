#include "bench/redis/bare_master.hpp"

#include "engines/redis/commands.hpp"
#include "engines/redis/keys.hpp"
#include "io/thread/random.hpp"
#include "wire/resp_writer.hpp"

#include <chrono>
#include <cstdlib>
#include <stdexcept>

namespace holdfast::bench {

namespace {

namespace commands = engines::redis::commands;

core::session_record record_of(const session_id& id) {
  core::session_record r;
  r.id = id;
  r.ttl = std::chrono::seconds{60};
  r.owner.host = "bare";
  return r;
}

}  // namespace

bare_master::bare_master(int port)
    : connection_({port}), id_(io::random_session_id()), client_(id_.str().substr(0, 16)) {
  nonce_ = nonce_of(connection_);
  // [inc, beat, gate], each a bulk string.
  const auto opened = connection_.ask(0, commands::open(nonce_, record_of(id_)));
  if (opened.front() != '*') throw std::runtime_error(opened);
  inc_ = std::strtoull(opened.c_str() + opened.find("\r\n", opened.find('$')) + 2, nullptr, 10);
}

std::string bare_master::subscribe() const { return commands::subscribe(client_); }

std::string bare_master::enqueue(const std::string& name, std::uint64_t request) const {
  core::enqueue_request r;
  r.name = lock_name(name);
  r.id = id_;
  r.inc = inc_;
  r.gate = 1;
  r.request = request;
  return commands::enqueue(nonce_, r, client_);
}

std::string bare_master::confirm(const std::string& name, std::uint64_t request) const {
  return commands::confirm(nonce_, {lock_name(name), id_, inc_, {}, request});
}

std::string bare_master::leave(const std::string& name, std::uint64_t request) const {
  return commands::leave(nonce_, {lock_name(name), id_, inc_, request, {}, false});
}

std::string bare_master::beat() const { return commands::beat(nonce_, id_, inc_); }

std::string nonce_of(bare_nodes& connection) {
  std::string bytes;
  wire::resp_writer(bytes).command("HGET", engines::redis::store_key, "nonce");
  return text_of(connection.ask(0, bytes));
}

double calls(bare_nodes& connection, const std::string& command) {
  return info(connection, "commandstats", "cmdstat_" + command + ":calls");
}

void reset_calls(bare_nodes& connection) {
  std::string bytes;
  wire::resp_writer(bytes).command("CONFIG", "RESETSTAT");
  connection.ask(0, bytes);
}

}  // namespace holdfast::bench
