#include "tests/interop/foreign_client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

namespace holdfast::interop_tests {

namespace {

const std::string folder = HOLDFAST_INTEROP_FOLDER;

// Debian's, for which the package python3-redis is.
const std::string python = "/usr/bin/python3";

bool runs(const std::vector<std::string>& command) {
  return process::child::execute(command).wait() == 0;
}

bool is_python(const foreign_client::kind& k) { return k.program.ends_with(".py"); }

std::pair<int, int> pipe_of_own() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  return {ends[0], ends[1]};
}

}  // namespace

std::string foreign_client::missing(const kind& k) {
  if (is_python(k)) {
    const bool there = runs({python, "-c", "import redis.lock"});
    return there ? "" : "python3-redis is not installed: run script/install-deps";
  }
  if (!runs({"node", "--version"})) return "node is not installed: run script/install-deps";
  const bool there = std::filesystem::exists(folder + "/node_modules/.package-lock.json");
  return there ? "" : "tests/interop/node_modules is missing: run script/install-deps";
}

foreign_client::foreign_client(const kind& k, const std::string& mode, const std::string& name,
                               std::chrono::milliseconds ttl, redlock_tests::five_nodes& nodes,
                               const section_log& log) {
  std::vector<std::string> command{is_python(k) ? python : "node",
                                   folder + "/" + k.program,
                                   mode,
                                   name,
                                   std::to_string(ttl.count()),
                                   log.path()};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    command.push_back(std::to_string(nodes[i].port()));
  }
  const auto [from_us, to_it] = pipe_of_own();
  const auto [from_it, to_us] = pipe_of_own();
  process_ = process::child::start({.arguments = command, .streams = {from_us, to_us, -1}});
  ::close(from_us);
  ::close(to_us);
  input_ = to_it;
  output_ = from_it;
}

foreign_client::~foreign_client() {
  let_go();
  ::close(output_);
}

std::string foreign_client::line(std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (const auto end = said_.find('\n'); end != std::string::npos) {
      std::string first = said_.substr(0, end);
      said_.erase(0, end + 1);
      return first;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd readable{output_, POLLIN, 0};
    if (left <= 0ms || ::poll(&readable, 1, static_cast<int>(left.count())) <= 0) return {};
    std::array<char, 512> some{};
    const ssize_t n = ::read(output_, some.data(), some.size());
    if (n <= 0) return {};
    said_.append(some.data(), static_cast<std::size_t>(n));
  }
}

void foreign_client::let_go() {
  if (input_ >= 0) ::close(std::exchange(input_, -1));
}

bool foreign_client::ends_well() {
  let_go();
  return process_.wait(20s) == 0;
}

}  // namespace holdfast::interop_tests
