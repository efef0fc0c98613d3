#pragma once

#include "cli/descriptor.hpp"
#include "cli/guardian_channel.hpp"
#include "cli/lease_page.hpp"
#include "cli/process_tree.hpp"
#include "cli/start_state.hpp"

#include <holdfast/clock.hpp>

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::cli {

/// What the guardian needs to know before the lock is held; it is copied by fork.
struct guardian_setup {
  std::string path;                    ///< The command's file, already found.
  std::vector<std::string> arguments;  ///< The command's argv.
  start_state signals;
  duration grace;  ///< SIGTERM to SIGKILL for what is left behind, and on a loss.
  int terminal_fd{-1};
  pid_t wrapper_group{};
};

/// The process between the wrapper and the command.
///
/// | event                          | what it does                                                |
/// |--------------------------------|-------------------------------------------------------------|
/// | start                          | runs the command in its own process group                   |
/// | start, and term_at has passed  | reports ETIME, runs nothing and ends                        |
/// | term_at of the page has passed | SIGTERM to everything below it, once; SIGKILL at kill_at    |
/// | kill_at has passed in any case | SIGKILL to everything below it, again until nothing is left |
/// | the wrapper is gone            | the same, at once                                           |
/// | the command ended, others live | SIGTERM to them, SIGKILL after the grace                    |
/// | nothing is left                | reports to the wrapper, ends                                |
///
/// It is the subreaper of the command's descendants, so neither setsid nor a double fork gets one
/// away, and it holds the session's life lock for as long as any of them lives. It never
/// heartbeats: a deadline only moves when the wrapper raises it. It blocks every signal that can
/// be blocked, and runs in a process group of its own. One thread.
class guardian {
 public:
  guardian(guardian_setup setup, lease_memory& lease, descriptor channel);

  /// Runs until nothing is left; the caller then ends the process.
  void run();

 private:
  enum class stage { idle, running, leaving, killing, over };

  bool become_guardian();
  void arm_timer();
  void wait_for_events();
  void read_messages();
  void handle(message m);
  void start(message m);
  [[noreturn]] void become_command(const message& m, pid_t parent, int report);
  void read_exec_report();
  void reap();
  void command_ended(int status);
  void enforce();
  void terminate_all(time_point kill_by);
  void kill_all();
  void lease_is_over();
  time_point next_wake() const;
  time_point page_time(const std::atomic<std::int64_t>& at) const;
  void finish();

  guardian_setup setup_;
  lease_memory& lease_;
  descriptor channel_;
  descriptor life_;  ///< Held, never used: its lock proves that something still lives.
  descriptor signals_;
  descriptor timer_;
  descriptor children_;
  descriptor exec_report_;
  stage stage_{stage::idle};
  pid_t command_{};
  std::optional<int> status_;
  bool lease_ended_{};  ///< Sticky: a raised deadline does not call a SIGTERM back.
  time_point kill_by_{time_point::max()};
  std::set<process_ref> killed_;
  duration kill_pause_{};
};

}  // namespace holdfast::cli
