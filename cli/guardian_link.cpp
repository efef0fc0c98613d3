#include "cli/guardian_link.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <set>
#include <utility>

namespace holdfast::cli {

using namespace std::chrono_literals;

namespace {

error failed(const char* what) {
  return {errc::unavailable, std::string(what) + " for the guardian: " + std::strerror(errno)};
}

/// Ended or not, but not yet waited for.
bool has_children() {
  siginfo_t ignored{};
  return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

/// Children that a shell started before it became this program by exec.
std::vector<process_ref> children_before_us() {
  return has_children() ? children_of(::getpid()) : std::vector<process_ref>{};
}

void pause_for(duration d) {
  const timespec t{static_cast<time_t>(d / 1s), static_cast<long>((d % 1s).count())};
  ::nanosleep(&t, nullptr);
}

}  // namespace

result<guardian_link> guardian_link::fork_guardian(guardian_setup setup) {
  auto lease = lease_memory::create();
  if (!lease) return lease.error();
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return failed("a socket pair");
  }
  descriptor ours(ends[0]);
  descriptor theirs(ends[1]);
  std::vector<process_ref> strangers = children_before_us();
  const pid_t child = ::fork();
  if (child < 0) return failed("a process");
  if (child == 0) {
    ours.reset();
    guardian(std::move(setup), *lease, std::move(theirs)).run();
    ::_exit(0);
  }
  // Here too, so that no signal to our group can reach the guardian before it has moved itself.
  ::setpgid(child, child);
  // If the guardian is killed, what it guarded becomes our child.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  return guardian_link(child, std::move(ours), std::move(*lease), std::move(strangers));
}

guardian_link::guardian_link(pid_t pid, descriptor channel, lease_memory lease,
                             std::vector<process_ref> strangers) noexcept
    : pid_(pid),
      channel_(std::move(channel)),
      lease_(std::move(lease)),
      strangers_(std::move(strangers)) {}

guardian_link::guardian_link(guardian_link&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      channel_(std::move(other.channel_)),
      lease_(std::move(other.lease_)),
      strangers_(std::move(other.strangers_)),
      reaped_(std::exchange(other.reaped_, true)) {}

guardian_link::~guardian_link() {
  channel_.reset();
  for (int i = 0; i < 200 && pid_ > 0 && !is_gone(); ++i) pause_for(i < 20 ? 200us : 5ms);
  if (pid_ > 0 && !reaped_) kill_everything(1s);
}

void guardian_link::raise(const deadlines& d) noexcept {
  const std::int64_t kill = d.kill_at.time_since_epoch().count();
  const std::int64_t term = d.term_at.time_since_epoch().count();
  lease_page& p = page();
  // SIGKILL's time first: a guardian that reads in between must not see term after kill.
  if (kill > p.kill_at.load(std::memory_order_relaxed)) {
    p.kill_at.store(kill, std::memory_order_release);
  }
  if (term > p.term_at.load(std::memory_order_relaxed)) {
    p.term_at.store(term, std::memory_order_release);
  }
}

time_point guardian_link::kill_at() noexcept {
  return time_point(duration(page().kill_at.load(std::memory_order_acquire)));
}

bool guardian_link::start(std::vector<std::string> environment, int life_descriptor,
                          bool foreground) {
  environment.push_back("HOLDFAST_LEASE=" + lease_.address(pid_));
  return send_message(
      channel_.get(),
      {.what = message::kind::start, .flag = foreground, .texts = std::move(environment)},
      life_descriptor);
}

void guardian_link::forward(int signal) {
  send_message(channel_.get(), {.what = message::kind::forward, .number = signal});
}

void guardian_link::proceed(bool foreground) {
  send_message(channel_.get(), {.what = message::kind::proceed, .flag = foreground});
}

void guardian_link::end_now() {
  page().now.store(lease_page::stage::lost, std::memory_order_release);
  send_message(channel_.get(), {.what = message::kind::end_now});
}

received guardian_link::receive() { return receive_message(channel_.get()); }

bool guardian_link::is_gone() {
  if (reaped_) return true;
  int status{};
  const pid_t who = ::waitpid(pid_, &status, WNOHANG | WUNTRACED);
  if (who == pid_ && WIFSTOPPED(status)) {
    ::kill(pid_, SIGCONT);
    return false;
  }
  reaped_ = who == pid_ || (who < 0 && errno == ECHILD);
  return reaped_;
}

void guardian_link::look_at_others() {
  // As pid 1 of a container, too, we are given the orphans of others.
  if (strangers_.empty() && ::getpid() != 1) return;
  for (bool again = true; again;) {
    const std::vector<process_ref> seen = own_children();
    siginfo_t ended{};
    constexpr int only_look = WEXITED | WNOHANG | WNOWAIT;
    const bool looked = ::waitid(P_PID, static_cast<id_t>(pid_), &ended, only_look) == 0;
    if (!looked || ended.si_pid != 0) return;
    again = false;
    for (const process_ref& one : seen) {
      if (one.pid == pid_) continue;
      const bool known = std::find(strangers_.begin(), strangers_.end(), one) != strangers_.end();
      if (!known) strangers_.push_back(one);
      if (::waitpid(one.pid, nullptr, WNOHANG) != one.pid) continue;
      std::erase(strangers_, one);
      // What it left behind is ours by now, and was perhaps not seen yet.
      again = true;
    }
  }
}

bool guardian_link::kill_everything(duration patience) {
  const time_point until = clock::now() + patience;
  std::set<process_ref> killed;
  duration pause = 2ms;
  while (true) {
    if (!is_gone()) ::kill(pid_, SIGKILL);
    bool moved = kill_descendants(killed, strangers_);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) moved = true;
    bool left = false;
    for (const process_ref& one : children_of(::getpid())) {
      left |= std::find(strangers_.begin(), strangers_.end(), one) == strangers_.end();
    }
    // That /proc could not be read is no sign that nobody is left.
    left |= strangers_.empty() && has_children();
    if (!left) return true;
    if (clock::now() >= until) return false;
    // What may not be killed is looked at ever more rarely.
    pause = moved ? duration(2ms) : std::min(2 * pause, duration(100ms));
    pause_for(pause);
  }
}

}  // namespace holdfast::cli
