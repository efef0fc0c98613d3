#pragma once

#include "tests/process/child.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/token.hpp>

#include <csignal>
#include <string>

namespace holdfast::promises {

/// This program again, in a process that opens a session with this ttl, or a longer one if the
/// machine is too slow for it, and holds one lock until it ends. Its main thread only answers.
class other_process {
 public:
  other_process(const std::string& url, duration ttl, const std::string& name);
  other_process(const other_process&) = delete;
  other_process& operator=(const other_process&) = delete;
  ~other_process();

  session_id id() const { return id_; }
  token held() const { return token_; }
  pid_t pid() const { return process_.pid(); }
  /// Whether its lock's check() says ok.
  bool holds();
  void stop() const { process_.signal(SIGSTOP); }
  void resume() const { process_.signal(SIGCONT); }
  /// Returns when the kernel has ended it.
  void kill() { process_.end(); }

 private:
  std::string answer();

  process::child process_;
  int to_{-1};
  int from_{-1};
  session_id id_;
  token token_;
};

/// The process's main(), where `argv` asks for it; else it does not return here.
bool is_other_process(int argc, char** argv);
int run_other_process(char** argv);

}  // namespace holdfast::promises
