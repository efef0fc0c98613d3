#include "tests/process/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

child child::execute(const std::vector<std::string>& arguments) {
  return fork([&] {
    if (std::getenv("HOLDFAST_TEST_VERBOSE") == nullptr) {
      const int null = ::open("/dev/null", O_RDWR);
      for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
      ::close(null);
    }
    std::vector<char*> argv;
    for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    return 98;
  });
}

child& child::operator=(child&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = std::exchange(other.pid_, 0);
  }
  return *this;
}

void child::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
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

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool all_gone(std::chrono::milliseconds limit, pid_t but) {
  return eventually(
      [but] {
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        // The test has one thread, and orphans are given to it.
        std::ifstream children("/proc/thread-self/children");
        pid_t one = 0;
        while (children >> one) {
          if (one != but) return false;
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
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (condition()) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
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
