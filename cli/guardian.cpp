#include "cli/guardian.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace holdfast::cli {

using namespace std::chrono_literals;

namespace {

/// How soon a kill is repeated while something is still there: the pause grows while nobody new is
/// found and nobody ends, as where something may not be killed.
constexpr duration kill_again_after = 5ms;
constexpr duration kill_again_at_most = 1s;

}  // namespace

guardian::guardian(guardian_setup setup, lease_memory& lease, descriptor channel)
    : setup_(std::move(setup)), lease_(lease), channel_(std::move(channel)) {}

void guardian::run() {
  if (!become_guardian()) return;
  while (stage_ != stage::over) {
    arm_timer();
    wait_for_events();
    read_exec_report();
    read_messages();
    reap();
    enforce();
  }
  finish();
}

bool guardian::become_guardian() {
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "holdfast-guard");
  // A stopped guardian guards nothing, and a wrapper that is gone cannot continue it.
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  signals_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  timer_.reset(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  children_ = open_own_children();  // Where the kernel has no such list it does without.
  return signals_ && timer_;
}

time_point guardian::page_time(const std::atomic<std::int64_t>& at) const {
  return time_point(duration(at.load(std::memory_order_acquire)));
}

time_point guardian::next_wake() const {
  switch (stage_) {
    case stage::running:
      return page_time(lease_.page().term_at);
    case stage::leaving:
      return std::min(kill_by_, page_time(lease_.page().kill_at));
    case stage::killing:
      return clock::now() + kill_pause_;
    case stage::idle:
    case stage::over:
      break;
  }
  return time_point::max();
}

void guardian::arm_timer() {
  const time_point at = next_wake();
  itimerspec when{};
  if (at != time_point::max()) {
    // A time that has passed must fire at once, and zero would disarm the timer.
    const std::int64_t ns = std::max<std::int64_t>(at.time_since_epoch().count(), 1);
    when.it_value.tv_sec = ns / 1'000'000'000;
    when.it_value.tv_nsec = ns % 1'000'000'000;
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void guardian::wait_for_events() {
  std::array<pollfd, 4> watched{{{channel_.get(), POLLIN, 0},
                                 {signals_.get(), POLLIN, 0},
                                 {timer_.get(), POLLIN, 0},
                                 {exec_report_.get(), POLLIN, 0}}};
  ::poll(watched.data(), watched.size(), -1);
  signalfd_siginfo drained{};
  while (::read(signals_.get(), &drained, sizeof drained) > 0) continue;
}

void guardian::read_messages() {
  while (channel_) {
    received r = receive_message(channel_.get());
    if (r.closed) {
      channel_.reset();
      stage_ = command_ == 0 ? stage::over : stage::killing;
    }
    if (!r.got) return;
    handle(std::move(*r.got));
  }
}

void guardian::handle(message m) {
  switch (m.what) {
    case message::kind::start:
      if (stage_ == stage::idle) start(std::move(m));
      break;
    case message::kind::forward:
      if (command_ != 0 && !status_) ::kill(-command_, m.number);
      if (status_) signal_descendants({m.number});
      break;
    case message::kind::proceed:
      if (command_ == 0) break;
      if (m.flag) ::tcsetpgrp(setup_.terminal_fd, command_);
      ::kill(-command_, SIGCONT);
      break;
    case message::kind::end_now:
      if (stage_ == stage::running || stage_ == stage::leaving) {
        lease_is_over();
        terminate_all(clock::now() + setup_.grace);
      }
      break;
    default:
      break;
  }
}

void guardian::start(message m) {
  // Both of us may have stood still since the lease was looked at.
  if (clock::now() >= page_time(lease_.page().term_at)) {
    lease_is_over();
    send_message(channel_.get(), {.what = message::kind::start_failed, .number = ETIME});
    stage_ = stage::over;
    return;
  }
  life_ = std::move(m.passed);
  std::array<int, 2> report{-1, -1};
  const bool piped = ::pipe2(report.data(), O_CLOEXEC | O_NONBLOCK) == 0;
  const pid_t own = ::getpid();
  lease_.page().begun.store(true, std::memory_order_release);
  const pid_t child = piped ? ::fork() : -1;
  if (child < 0) {
    send_message(channel_.get(), {.what = message::kind::start_failed, .number = errno});
    if (piped) ::close(report[0]), ::close(report[1]);
    stage_ = stage::over;
    return;
  }
  if (child == 0) become_command(m, own, report[1]);
  ::close(report[1]);
  exec_report_.reset(report[0]);
  ::setpgid(child, child);  // Here and in the child: whoever comes first, nobody sees it unset.
  command_ = child;
  stage_ = stage::running;
}

void guardian::become_command(const message& m, pid_t parent, int report) {
  ::setpgid(0, 0);
  if (m.flag) ::tcsetpgrp(setup_.terminal_fd, ::getpid());
  // An extra for a guardian that is killed; lost at the exec of a set-user-id program.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  if (life_) ::fcntl(life_.get(), F_SETFD, 0);
  for (const std::string& pair : m.texts) {
    const std::size_t split = pair.find('=');
    ::setenv(pair.substr(0, split).c_str(), pair.substr(split + 1).c_str(), 1);
  }
  std::vector<char*> arguments;
  for (std::string& a : setup_.arguments) arguments.push_back(a.data());
  arguments.push_back(nullptr);
  setup_.signals.restore();
  ::execv(setup_.path.c_str(), arguments.data());
  const int why = errno;
  if (::write(report, &why, sizeof why) < 0) ::_exit(126);
  ::_exit(127);
}

void guardian::read_exec_report() {
  if (!exec_report_) return;
  int why{};
  const ssize_t size = ::read(exec_report_.get(), &why, sizeof why);
  if (size < 0) return;
  exec_report_.reset();
  const bool failed = size == static_cast<ssize_t>(sizeof why);
  send_message(channel_.get(),
               {.what = failed ? message::kind::start_failed : message::kind::started,
                .number = failed ? why : command_});
}

void guardian::reap() {
  while (command_ != 0) {
    int status{};
    const pid_t who = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (who < 0 && errno == ECHILD) {
      stage_ = stage::over;
      return;
    }
    if (who <= 0) {
      // The kernel has said that somebody is left; a look through /proc would cost milliseconds.
      if (status_ && stage_ == stage::running) terminate_all(clock::now() + setup_.grace);
      return;
    }
    kill_pause_ = kill_again_after;  // What it leaves is our child now.
    if (who != command_) continue;
    if (WIFSTOPPED(status)) {
      send_message(channel_.get(), {.what = message::kind::stopped, .number = WSTOPSIG(status)});
    } else {
      command_ended(status);
    }
  }
}

void guardian::command_ended(int status) {
  status_ = status;
  read_exec_report();  // A command that could not be started has said why before it ended.
}

void guardian::enforce() {
  if (stage_ != stage::running && stage_ != stage::leaving && stage_ != stage::killing) return;
  const time_point now = clock::now();
  const time_point page_kill = page_time(lease_.page().kill_at);
  if (stage_ != stage::killing && now >= page_kill) {
    lease_is_over();
    stage_ = stage::killing;
  }
  if (stage_ == stage::running && now >= page_time(lease_.page().term_at)) {
    lease_is_over();
    terminate_all(page_kill);
  }
  if (stage_ == stage::leaving && now >= kill_by_) stage_ = stage::killing;
  if (stage_ == stage::killing) kill_all();
}

void guardian::terminate_all(time_point kill_by) {
  stage_ = stage::leaving;
  kill_by_ = std::min({kill_by_, kill_by, page_time(lease_.page().kill_at)});
  // A stopped process acts on SIGTERM only once it is continued.
  signal_descendants({SIGTERM, SIGCONT});
}

void guardian::kill_all() {
  // First what needs no look through /proc, and no descriptor: there may be none left. What a child
  // leaves is our child the next time.
  if (command_ != 0 && !status_) ::kill(-command_, SIGKILL);
  kill_children(children_);
  const bool grew = kill_descendants(killed_);
  kill_pause_ =
      grew ? kill_again_after : std::clamp(2 * kill_pause_, kill_again_after, kill_again_at_most);
}

void guardian::lease_is_over() {
  lease_ended_ = true;
  lease_.page().now.store(lease_page::stage::lost, std::memory_order_release);
}

void guardian::finish() {
  if (command_ == 0) return;
  if (setup_.terminal_fd >= 0 && ::tcgetpgrp(setup_.terminal_fd) == command_) {
    ::tcsetpgrp(setup_.terminal_fd, setup_.wrapper_group);
  }
  life_.reset();
  send_message(
      channel_.get(),
      {.what = message::kind::ended, .number = status_.value_or(SIGKILL), .flag = lease_ended_});
}

}  // namespace holdfast::cli
