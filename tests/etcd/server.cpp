#include "tests/etcd/server.hpp"

#include "tests/redis_server/certificate.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace holdfast::etcd_tests {

using namespace std::chrono_literals;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string memory() {
  return std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::string();
}

std::string quoted(const std::string& argument) {
  std::string out = "'";
  for (const char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// As in --initial-cluster.
std::string entry(std::size_t i, const server::ports& at) {
  return "n" + std::to_string(i) + "=http://127.0.0.1:" + std::to_string(at.peers.number());
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

server::server(std::string name, std::string initial_cluster, std::shared_ptr<ports> at,
               server_options o, std::string certificates, const std::string& data_parent)
    : name_(std::move(name)),
      initial_cluster_(std::move(initial_cluster)),
      ports_(std::move(at)),
      options_(std::move(o)),
      certificates_(std::move(certificates)),
      directory_(data_parent) {}

server::~server() { process_.end(); }

std::vector<std::string> server::arguments() const {
  const std::string peer = peer_url();
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

void server::launch(const std::vector<std::string>& more_flags) {
  if (running()) fail("runs already");
  auto all = arguments();
  all.insert(all.end(), more_flags.begin(), more_flags.end());
  process_ = process::child::serve({.arguments = std::move(all)}, directory_.path() + "/log");
}

void server::launch_alone() {
  launch({"--force-new-cluster", "--listen-peer-urls=http://127.0.0.1:0"});
}

void server::kill() { process_.end(); }

void server::shutdown() {
  process_.signal(SIGTERM);
  if (!process_.wait(20s)) fail("does not shut down");
  process_.end();
}

void server::stop() { process_.signal(SIGSTOP); }
void server::resume() { process_.signal(SIGCONT); }

void server::restore(const std::string& snapshot, const std::string& cluster_token) {
  if (running()) fail("runs");
  const std::string data = directory_.path() + "/data";
  std::filesystem::remove_all(data);
  const std::string line = "ETCDCTL_API=3 etcdctl snapshot restore " + quoted(snapshot) +
                           " --name=" + name_ + " --data-dir=" + quoted(data) +
                           " --initial-cluster=" + initial_cluster_ +
                           " --initial-cluster-token=" + cluster_token +
                           " --initial-advertise-peer-urls=" + peer_url() + " 2>/dev/null";
  if (std::system(line.c_str()) != 0) fail("cannot be restored");
}

void server::fail(const std::string& what) const {
  const std::string log = text_of(directory_.path() + "/log");
  const std::size_t from = log.size() > 2000 ? log.size() - 2000 : 0;
  throw std::runtime_error("etcd " + address() + " " + what + "\n" + log.substr(from));
}

servers::servers(std::size_t count, server_options o) : options_(std::move(o)) {
  std::vector<std::shared_ptr<server::ports>> at;
  for (std::size_t i = 0; i < count; ++i) {
    at.push_back(std::make_shared<server::ports>());
    initial_cluster_.append(i == 0 ? "" : ",").append(entry(i, *at.back()));
  }
  if (options_.tls) make_certificates(directory_.path());
  for (std::size_t i = 0; i < count; ++i) {
    all_.push_back(std::make_unique<server>(
        "n" + std::to_string(i), initial_cluster_, at[i], options_, directory_.path(),
        i < options_.data_in.size() ? options_.data_in[i] : memory()));
    all_.back()->launch();
  }
  await_leader();
}

void servers::add_learner() {
  const auto i = size();
  const auto at = std::make_shared<server::ports>();
  const std::string peer = "http://127.0.0.1:" + std::to_string(at->peers.number());
  // Refused until all members have been connected for five seconds.
  const bool added = process::eventually(
      [&] {
        return !control(
                    {"member", "add", "n" + std::to_string(i), "--learner", "--peer-urls=" + peer})
                    .empty();
      },
      60s);
  if (!added) all_.front()->fail("takes no learner");
  auto o = options_;
  o.flags.emplace_back("--initial-cluster-state=existing");
  all_.push_back(std::make_unique<server>("n" + std::to_string(i),
                                          initial_cluster_ + "," + entry(i, *at), at, std::move(o),
                                          directory_.path(), memory()));
  all_.back()->launch();
  await_answer_of(*all_.back(), {"endpoint", "status"}, "does not learn");
}

void servers::promote_last() const {
  // Refused until it has learnt enough.
  const bool promoted = process::eventually(
      [&] {
        return !control({"member", "promote", member_id(size() - 1)}).empty();
      },
      60s);
  if (!promoted) all_.back()->fail("is not promoted");
}

std::string servers::addresses() const {
  std::string text;
  for (const auto& s : all_) text.append(text.empty() ? "" : ",").append(s->address());
  return text;
}

std::string servers::url_of(const std::vector<std::size_t>& members,
                            const std::string& query) const {
  std::string text;
  for (const auto i : members) text.append(text.empty() ? "" : ",").append(all_.at(i)->address());
  return "etcd://" + text + "/t?" + query;
}

std::vector<std::string> servers::urls(const std::string& query, std::size_t clients) const {
  std::vector<std::size_t> order(size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::string> all;
  for (std::size_t i = 0; i < clients; ++i) {
    all.push_back(url_of(order, query));
    std::ranges::rotate(order, order.begin() + 1);
  }
  return all;
}

std::string servers::control(const std::vector<std::string>& arguments) const {
  std::string endpoints;
  for (const auto& s : all_) endpoints.append(endpoints.empty() ? "" : ",").append(endpoint(*s));
  return control_of(endpoints, arguments);
}

std::string servers::control_of(const std::string& endpoints,
                                const std::vector<std::string>& arguments) const {
  std::string line = "ETCDCTL_API=3 etcdctl --endpoints=" + endpoints;
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
  for (const auto& s : all_) {
    if (!s->running()) continue;
    await_answer_of(*s, {"get", "nothing", "-w", "json"}, "finds no leader");
  }
}

void servers::await_answer_of(const server& s, const std::vector<std::string>& question,
                              const std::string& otherwise) const {
  std::vector<std::string> all{"--command-timeout=2s"};
  all.insert(all.end(), question.begin(), question.end());
  const bool up = process::eventually([&] { return !control_of(endpoint(s), all).empty(); }, 60s);
  if (!up) s.fail(otherwise);
}

std::string servers::member_id(std::size_t i) const {
  // "ID, started, NAME, ..."
  std::istringstream members(control({"member", "list"}));
  const std::string name = ", n" + std::to_string(i) + ",";
  for (std::string line; std::getline(members, line);) {
    if (line.find(name) != std::string::npos) return line.substr(0, line.find(','));
  }
  return {};
}

void servers::lead(std::size_t i) const {
  const bool leads = process::eventually([&] {
    if (leader() == i) return true;
    static_cast<void>(control({"move-leader", member_id(i)}));
    return leader() == i;
  });
  if (!leads) all_.at(i)->fail("does not lead");
}

std::size_t servers::count(const std::string& prefix) const {
  // Each key is followed by an empty line.
  const auto told = control({"get", prefix, "--prefix", "--keys-only"});
  return static_cast<std::size_t>(std::ranges::count(told, '\n')) / 2;
}

std::int64_t servers::revision() const {
  constexpr std::string_view before = "\"Revision\" : ";
  const auto told = control({"get", "nothing", "-w", "fields"});
  const auto at = told.find(before);
  if (at == std::string::npos) all_.front()->fail("does not tell its revision");
  return std::stoll(told.substr(at + before.size()));
}

std::size_t servers::leader() const {
  std::size_t found = size();
  const auto leads = [&](std::size_t i) {
    if (!all_[i]->running()) return false;
    const auto told =
        control_of(endpoint(*all_[i]), {"--command-timeout=2s", "endpoint", "status"});
    // "ENDPOINT, ID, VERSION, SIZE, IS LEADER, ..."
    std::istringstream columns(told);
    std::string column;
    for (int n = 0; n < 5; ++n) std::getline(columns, column, ',');
    return column == " true";
  };
  const bool one = process::eventually(
      [&] {
        for (found = 0; found < size(); ++found) {
          if (leads(found)) return true;
        }
        return false;
      },
      60s);
  if (!one) all_.front()->fail("has no leader");
  return found;
}

}  // namespace holdfast::etcd_tests
