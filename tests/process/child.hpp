#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::process {

/// A program and what it is started with.
struct program {
  std::vector<std::string> arguments;
  /// Added to our environment.
  std::vector<std::pair<std::string, std::string>> environment{};
  /// Its standard input, output and error; below zero: ours.
  std::array<int, 3> streams{-1, -1, -1};
  /// Killed when the thread that started it ends.
  bool ends_with_us{};
};

/// One child process. Killed and waited for when destroyed.
class child {
 public:
  child() = default;
  /// Forks; the child runs `body` and ends with what it returns. An exception ends it with 99.
  ///
  /// Only for a process of one thread: another may hold a lock, the allocator's say, that nobody in
  /// the child ever gives back.
  static child fork(const std::function<int()>& body);
  /// Executes a program; also for a process of many threads. It ends with 98 if it does not start.
  static child start(const program& p);
  /// Executes; standard streams go to /dev/null unless HOLDFAST_TEST_VERBOSE is set.
  static child execute(const std::vector<std::string>& arguments);
  /// Executes what serves the tests: all it says is added to the file `log`, and it ends with us.
  static child serve(program p, const std::string& log);

  child(child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  child& operator=(child&& other) noexcept;
  ~child() { end(); }

  pid_t pid() const { return pid_; }
  /// After SIGSTOP it has stopped when this returns.
  void signal(int number) const;
  /// The exit code, or 128 + the signal; nothing when it still runs after `limit`.
  std::optional<int> wait(std::chrono::milliseconds limit = std::chrono::seconds{60});
  void end();

 private:
  explicit child(pid_t p) : pid_(p) {}
  pid_t pid_{};
};

/// Runs `body` in a child that is forked as a program forks, with all that this process has and no
/// care for its threads; the exit code, or 128 + the signal.
int in_a_fork(const std::function<int()>& body);

/// Makes this process the one that orphans of its children are given to.
void adopt_orphans();
/// True when every descendant has ended within `limit`, but for the children `but`.
bool all_gone(std::chrono::milliseconds limit, const std::vector<pid_t>& but = {});
/// How many descriptors this process has open.
std::size_t open_descriptors();

/// Looks again and again, with pauses of a 16th of what has passed, between 1 and 20 ms: looks are
/// not to take the processors from what is looked at. False when `limit` passed first.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::seconds{30});

/// `reduced`, or `full` when HOLDFAST_TEST_FULL is set.
int rounds(int reduced, int full);
/// From HOLDFAST_TEST_SEED or the kernel; printed when a test that used it fails.
std::uint64_t seed();

}  // namespace holdfast::process
