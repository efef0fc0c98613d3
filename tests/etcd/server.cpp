#include "tests/etcd/server.hpp"

#include "tests/process/free_port.hpp"
#include "tests/redis/certificate.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace holdfast::etcd_tests {

using namespace std::chrono_literals;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string data_parent() {
  return std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::string();
}

std::string quoted(const std::string& argument) {
  std::string out = "'";
  for (const char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void make_certificates(const std::string& directory) {
  const std::string here = "DNS:localhost,IP:127.0.0.1";
  const io::certificate ca({.directory = directory, .name = "ca"});
  const io::certificate own(
      {.directory = directory, .name = "server", .alternative = here, .issuer = &ca});
  const io::certificate client(
      {.directory = directory, .name = "client", .alternative = here, .issuer = &ca});
}

}  // namespace

server::server(std::string name, std::string initial_cluster, int client_port, int peer_port,
               server_options o, std::string certificates)
    : name_(std::move(name)),
      initial_cluster_(std::move(initial_cluster)),
      client_port_(client_port),
      peer_port_(peer_port),
      options_(std::move(o)),
      certificates_(std::move(certificates)),
      directory_(data_parent()) {}

server::~server() { process_.end(); }

std::vector<std::string> server::arguments() const {
  const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_);
  const std::string client = (options_.tls ? "https://" : "http://") + address();
  std::vector<std::string> all{"etcd",
                               "--name=" + name_,
                               "--data-dir=" + directory_.path() + "/data",
                               "--listen-peer-urls=" + peer,
                               "--initial-advertise-peer-urls=" + peer,
                               "--listen-client-urls=" + client,
                               "--advertise-client-urls=" + client,
                               "--initial-cluster=" + initial_cluster_,
                               "--logger=zap",
                               "--log-level=warn"};
  if (options_.tls) {
    all.insert(all.end(), {"--client-cert-auth", "--trusted-ca-file=" + certificates_ + "/ca.crt",
                           "--cert-file=" + certificates_ + "/server.crt",
                           "--key-file=" + certificates_ + "/server.key"});
  }
  all.insert(all.end(), options_.flags.begin(), options_.flags.end());
  return all;
}

void server::launch() {
  if (running()) fail("runs already");
  const std::vector<std::string> all = arguments();
  const std::string path = directory_.path() + "/log";
  const pid_t parent = ::getpid();
  process_ = process::child::fork([&] {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) return 98;
    const int log = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (int fd = 0; fd < 3; ++fd) ::dup2(log, fd);
    std::vector<char*> argv;
    for (const std::string& a : all) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    return 98;
  });
}

void server::kill() { process_.end(); }

void server::shutdown() {
  process_.signal(SIGTERM);
  if (!process_.wait(20s)) fail("does not shut down");
  process_.end();
}

void server::stop() { process_.signal(SIGSTOP); }
void server::resume() { process_.signal(SIGCONT); }

void server::fail(const std::string& what) const {
  const std::string log = text_of(directory_.path() + "/log");
  const std::size_t from = log.size() > 2000 ? log.size() - 2000 : 0;
  throw std::runtime_error("etcd " + address() + " " + what + "\n" + log.substr(from));
}

servers::servers(std::size_t count, server_options o) : options_(std::move(o)) {
  std::vector<std::pair<int, int>> ports;
  std::string initial;
  for (std::size_t i = 0; i < count; ++i) {
    ports.emplace_back(process::free_port(), process::free_port());
    initial.append(i == 0 ? "" : ",")
        .append("n" + std::to_string(i))
        .append("=http://127.0.0.1:" + std::to_string(ports.back().second));
  }
  if (options_.tls) make_certificates(directory_.path());
  for (std::size_t i = 0; i < count; ++i) {
    all_.push_back(std::make_unique<server>("n" + std::to_string(i), initial, ports[i].first,
                                            ports[i].second, options_, directory_.path()));
    all_.back()->launch();
  }
  await_leader();
}

std::string servers::addresses() const {
  std::string text;
  for (const auto& s : all_) text.append(text.empty() ? "" : ",").append(s->address());
  return text;
}

std::string servers::control(const std::vector<std::string>& arguments) const {
  std::string line = "ETCDCTL_API=3 etcdctl --endpoints=";
  const std::string scheme = options_.tls ? "https://" : "http://";
  for (std::size_t i = 0; i < all_.size(); ++i) {
    line.append(i == 0 ? "" : ",").append(scheme + all_[i]->address());
  }
  if (options_.tls) {
    const auto& d = directory_.path();
    line += " --cacert=" + d + "/ca.crt --cert=" + d + "/client.crt --key=" + d + "/client.key";
  }
  for (const auto& a : arguments) line += " " + quoted(a);
  line += " 2>/dev/null";
  FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string out;
  char room[4096];
  while (const auto count = std::fread(room, 1, sizeof room, pipe)) out.append(room, count);
  return ::pclose(pipe) == 0 ? out : std::string();
}

void servers::await_leader() const {
  const bool up = process::eventually([&] {
    return !control({"--command-timeout=2s", "get", "nothing", "--consistency=l", "-w", "json"})
                .empty();
  });
  if (!up) all_.front()->fail("finds no leader");
}

std::size_t servers::leader() const {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (!all_[i]->running()) continue;
    const std::string line = "ETCDCTL_API=3 etcdctl --command-timeout=2s --endpoints=http://" +
                             all_[i]->address() +
                             " endpoint status -w simple 2>/dev/null | cut -d, -f5";
    FILE* pipe = ::popen(line.c_str(), "r");
    char room[64]{};
    const auto count = pipe == nullptr ? 0 : std::fread(room, 1, sizeof room - 1, pipe);
    if (pipe != nullptr) ::pclose(pipe);
    if (std::string(room, count).find("true") != std::string::npos) return i;
  }
  all_.front()->fail("has no leader");
}

}  // namespace holdfast::etcd_tests
