#include "tests/zookeeper/server.hpp"

#include "tests/process/loopback.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace holdfast::zookeeper_tests {

using namespace std::chrono_literals;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string memory() {
  return std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::string();
}

}  // namespace

server::server(std::size_t number, const std::vector<std::string>& members, server_options o)
    : options_(std::move(o)), directory_(memory()) {
  const std::string& d = directory_.path();
  std::filesystem::create_directory(d + "/data");
  std::ofstream(d + "/data/myid") << number << '\n';
  std::ofstream settings(d + "/zoo.cfg");
  // Nobody is to be elected, and no connection to be given up, because the machine is busy.
  settings << "tickTime=500\ninitLimit=60\nsyncLimit=20\nmaxSessionTimeout=60000\n"
           << "dataDir=" << d << "/data\nclientPort=" << port_.number()
           << "\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n"
           << "4lw.commands.whitelist=*\n";
  for (const auto& line : members) settings << line << '\n';
  for (const auto& line : options_.settings) settings << line << '\n';
}

server::~server() { process_.end(); }

void server::launch() {
  if (running()) fail("runs already");
  const std::string& d = directory_.path();
  std::vector<std::string> all{"java",
                               "-XX:+UseSerialGC",
                               "-XX:TieredStopAtLevel=1",
                               "-Xmx512m",
                               "-Dzookeeper.forceSync=no",
                               "-Dzookeeper.preAllocSize=1024",
                               "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"};
  all.insert(all.end(), options_.properties.begin(), options_.properties.end());
  all.insert(all.end(), {"-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
                         "org.apache.zookeeper.server.quorum.QuorumPeerMain", d + "/zoo.cfg"});
  process_ = process::child::serve({.arguments = std::move(all)}, d + "/log");
}

void server::kill() { process_.end(); }
void server::stop() { process_.signal(SIGSTOP); }
void server::resume() { process_.signal(SIGCONT); }

std::string server::ask(const std::string& word) const {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const sockaddr_in to = process::loopback(port_.number());
  std::string answer;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
      ::send(fd, word.data(), word.size(), MSG_NOSIGNAL) > 0) {
    char room[4096];
    for (ssize_t got = 0; (got = ::recv(fd, room, sizeof room, 0)) > 0;) {
      answer.append(room, static_cast<std::size_t>(got));
    }
  }
  ::close(fd);
  return answer;
}

void server::fail(const std::string& what) const {
  const std::string log = text_of(directory_.path() + "/log");
  const std::size_t from = log.size() > 2000 ? log.size() - 2000 : 0;
  throw std::runtime_error("ZooKeeper " + address() + " " + what + "\n" + log.substr(from));
}

servers::servers(std::size_t count, server_options o) : servers(count, std::move(o), false) {}

servers::servers(std::size_t count, server_options o, bool cuttable) {
  const auto line = [](std::size_t number, int quorum_port, int election_port) {
    return "server." + std::to_string(number) + "=127.0.0.1:" + std::to_string(quorum_port) + ":" +
           std::to_string(election_port);
  };
  std::vector<std::string> members;
  std::vector<std::string> seen_by_last;
  for (std::size_t i = 1; count > 1 && i <= count; ++i) {
    for (int port = 0; port < 2; ++port) {
      peer_ports_.push_back(std::make_unique<process::reserved_port>());
    }
    const int quorum = peer_ports_[2 * i - 2]->number();
    const int election = peer_ports_[2 * i - 1]->number();
    members.push_back(line(i, quorum, election));
    int way = quorum;
    if (cuttable && i < count) {
      proxies_.push_back(std::make_unique<process::proxy>(quorum));
      const std::string address = proxies_.back()->address();
      way = std::stoi(address.substr(address.find(':') + 1));
    }
    seen_by_last.push_back(line(i, way, election));
  }
  for (std::size_t i = 1; i <= count; ++i) {
    all_.push_back(std::make_unique<server>(i, i == count ? seen_by_last : members, o));
    all_.back()->launch();
  }
  await();
}

std::unique_ptr<servers> servers::with_follower() {
  std::unique_ptr<servers> three(new servers(3, {}, true));
  while (three->leader() == 2) {
    three->at(2).kill();
    three->await();
    three->at(2).launch();
    three->await();
  }
  return three;
}

void servers::cut_off_last(bool on) {
  for (const auto& p : proxies_) p->swallow(on);
}

std::string servers::addresses() const {
  std::string text;
  for (const auto& s : all_) text.append(text.empty() ? "" : ",").append(s->address());
  return text;
}

std::size_t servers::leader() const {
  std::size_t found = size();
  const bool one = process::eventually(
      [&] {
        for (found = 0; found < size(); ++found) {
          if (all_[found]->running() && all_[found]->leads()) return true;
        }
        return false;
      },
      90s);
  if (!one) all_.front()->fail("has no leader");
  return found;
}

void servers::await() const {
  for (const auto& s : all_) {
    if (!s->running()) continue;
    if (!process::eventually([&] { return s->serves(); }, 90s)) s->fail("does not serve");
  }
}

}  // namespace holdfast::zookeeper_tests
