#include "tests/redis_server/server.hpp"

#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace holdfast::redis_tests {

using namespace std::chrono_literals;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

server::server(options o) : options_(std::move(o)) {
  if (!options_.users.empty()) {
    std::ofstream(directory_.path() + "/users.acl") << options_.users;
  }
  for (int tries = 0; tries < 10; ++tries) {
    port_.emplace();
    if (launch()) return;
    if (text_of(directory_.path() + "/log").find("in use") == std::string::npos) break;
  }
  fail("does not start");
}

server::~server() { process_.end(); }

std::vector<std::string> server::arguments() const {
  const std::string& d = directory_.path();
  std::vector<std::string> all{"redis-server",
                               "--bind",
                               "127.0.0.1",
                               "--dir",
                               d,
                               "--logfile",
                               d + "/log",
                               "--daemonize",
                               "no",
                               "--save",
                               "",
                               "--appendonly",
                               options_.append_only ? "yes" : "no",
                               "--appendfsync",
                               options_.fsync};
  const std::string port = std::to_string(this->port());
  if (options_.tls) {
    all.insert(all.end(), {"--port", "0", "--tls-port", port});
  } else {
    all.insert(all.end(), {"--port", port});
  }
  if (!options_.users.empty()) all.insert(all.end(), {"--aclfile", d + "/users.acl"});
  if (options_.unix_socket) all.insert(all.end(), {"--unixsocket", socket_path()});
  all.insert(all.end(), options_.settings.begin(), options_.settings.end());
  return all;
}

/// False when it ended by itself.
bool server::launch() {
  // The log gets what it says before it has read the name of its log, too.
  process_ = process::child::serve({.arguments = arguments(), .environment = options_.environment},
                                   directory_.path() + "/log");
  own_.reset();
  bool ended = false;
  const bool up = process::eventually([&] {
    ended = process_.wait(0ms).has_value();
    // A server that loads or wants a password is up as well, but not one that refuses to connect.
    if (ended) return true;
    connection own = connect();
    if (options_.tls) return own.open();
    const answer pong = own.command({"PING"});
    return pong.text == "PONG" || pong.error_word() == "NOAUTH";
  });
  if (!up) fail("does not answer");
  return !ended;
}

void server::start(data d) {
  if (running()) fail("runs already");
  if (d == data::wipe) {
    for (const char* name : {"/appendonlydir", "/dump.rdb"}) {
      std::filesystem::remove_all(directory_.path() + name);
    }
  }
  if (!launch()) fail("does not start again");
}

void server::kill() { process_.end(); }

void server::shutdown() {
  command({"SHUTDOWN"});
  if (!process_.wait(30s)) fail("does not shut down");
}

void server::stop() { process_.signal(SIGSTOP); }

void server::resume() { process_.signal(SIGCONT); }

connection server::connect(const std::string& user, const std::string& password) const {
  connection c = connection::tcp(port());
  if (user.empty()) return c;
  const answer a = c.command({"AUTH", user, password});
  if (a.text != "OK") fail("refuses user " + user + ": " + a.text);
  return c;
}

answer server::command(const std::vector<std::string>& parts) {
  if (!own_ || !own_->open()) own_ = connect();
  return own_->command(parts);
}

int server::calls(const std::string& name) {
  const std::string all = command({"INFO", "commandstats"}).text;
  const std::string key = "cmdstat_" + name + ":calls=";
  const auto at = all.find(key);
  return at == std::string::npos ? 0 : std::stoi(all.substr(at + key.size()));
}

void server::fail(const std::string& what) const {
  const std::string log = text_of(directory_.path() + "/log");
  const std::size_t from = log.size() > 2000 ? log.size() - 2000 : 0;
  throw std::runtime_error("redis-server " + address() + " " + what + "\n" + log.substr(from));
}

}  // namespace holdfast::redis_tests
