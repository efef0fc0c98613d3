#include "tests/process/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

namespace holdfast::process {

using namespace std::chrono_literals;

namespace {

int code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/// As the kernel wants them: it does not write through them, but its interface is older than const.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& t : texts) all.push_back(const_cast<char*>(t.c_str()));
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> with_ours(
    const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<std::string> all;
  for (const auto& [name, value] : settings) all.push_back(name + "=" + value);
  // The first of two with one name is the one that a program finds.
  for (char** ours = environ; *ours != nullptr; ++ours) all.emplace_back(*ours);
  return all;
}

}  // namespace

child child::fork(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t made = ::fork();
  if (made < 0) throw std::runtime_error("fork");
  if (made > 0) return child(made);
  int code = 99;
  try {
    code = body();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "child %d: %s\n", ::getpid(), e.what());
  }
  std::fflush(nullptr);
  ::_exit(code);
}

child child::start(const program& p) {
  const std::vector<char*> arguments = pointers(p.arguments);
  const std::vector<std::string> settings = with_ours(p.environment);
  const std::vector<char*> environment = pointers(settings);
  const pid_t parent = ::getpid();
  std::fflush(nullptr);
  // The child shares the memory until it executes the program: to copy that of a test with ASan
  // takes longer than most servers take to start.
  const pid_t made = ::vfork();
  if (made < 0) throw std::runtime_error("vfork");
  if (made > 0) return child(made);
  if (p.ends_with_us) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(98);
  }
  for (int fd = 0; fd < 3; ++fd) {
    const int from = p.streams[static_cast<std::size_t>(fd)];
    if (from >= 0) ::dup2(from, fd);
  }
  ::execvpe(arguments[0], arguments.data(), environment.data());
  ::_exit(98);
}

child child::execute(const std::vector<std::string>& arguments) {
  if (std::getenv("HOLDFAST_TEST_VERBOSE") != nullptr) return start({.arguments = arguments});
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  child made = start({.arguments = arguments, .streams = {null, null, null}});
  ::close(null);
  return made;
}

child child::serve(program p, const std::string& log) {
  const int fd = ::open(log.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  p.streams = {fd, fd, fd};
  p.ends_with_us = true;
  child made = start(p);
  ::close(fd);
  return made;
}

child& child::operator=(child&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = std::exchange(other.pid_, 0);
  }
  return *this;
}

void child::signal(int number) const {
  if (pid_ <= 0) return;
  ::kill(pid_, number);
  if (number != SIGSTOP) return;
  // A process of many threads still answers until the last of them has stopped.
  eventually([this] {
    siginfo_t seen{};
    const int options = WSTOPPED | WEXITED | WNOHANG | WNOWAIT;
    return ::waitid(P_PID, static_cast<id_t>(pid_), &seen, options) != 0 || seen.si_pid != 0;
  });
}

std::optional<int> child::wait(std::chrono::milliseconds limit) {
  if (pid_ == 0) return std::nullopt;
  int status = 0;
  const bool ended = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, limit);
  if (!ended) return std::nullopt;
  pid_ = 0;
  return code_of(status);
}

void child::end() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

int in_a_fork(const std::function<int()>& body) {
  const pid_t made = ::fork();
  if (made == 0) ::_exit(body());
  int status = 0;
  ::waitpid(made, &status, 0);
  return code_of(status);
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool all_gone(std::chrono::milliseconds limit, const std::vector<pid_t>& but) {
  return eventually(
      [&] {
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        // The test has one thread, and orphans are given to it.
        std::ifstream children("/proc/thread-self/children");
        pid_t one = 0;
        while (children >> one) {
          if (std::ranges::find(but, one) == but.end()) return false;
        }
        return true;
      },
      limit);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    // The last look is behind the end: this process itself may have stood still until then.
    const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - begun;
    if (condition()) return true;
    if (passed >= limit) return false;
    std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(passed / 16, 1ms, 20ms));
  }
}

int rounds(int reduced, int full) {
  return std::getenv("HOLDFAST_TEST_FULL") != nullptr ? full : reduced;
}

std::uint64_t seed() {
  const char* given = std::getenv("HOLDFAST_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
}

}  // namespace holdfast::process
