#include "cli/end_command_on_exit.hpp"
#include "cli/guardian_link.hpp"
#include "cli/process_tree.hpp"
#include "tests/temporary_directory.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

std::string contents(const std::filesystem::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void pause_for(duration d) {
  const timespec t{static_cast<time_t>(d / 1s), static_cast<long>((d % 1s).count())};
  ::nanosleep(&t, nullptr);
}

bool within(duration limit, const std::function<bool()>& is_so) {
  for (const time_point end = clock::now() + limit; clock::now() < end; pause_for(2ms)) {
    if (is_so()) return true;
  }
  return is_so();
}

/// Commands are marked through their environment, which no setsid or double fork takes away.
class guardian_test : public testing::Test {
 protected:
  std::string mark_ = "MARK=" + std::to_string(::getpid()) + "-" +
                      std::to_string(clock::now().time_since_epoch().count());
  tests::temporary_directory folder_;

  int marked() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string environment = contents(entry.path() / "environ");
      if (environment.find(mark_) != std::string::npos) ++count;
    }
    return count;
  }

  std::filesystem::path file(const char* name) const {
    return std::filesystem::path(folder_.path()) / name;
  }

  /// A guardian for a shell script, in this process as the wrapper.
  guardian_link guard(const std::string& script, duration grace = 2s) const {
    auto link = guardian_link::fork_guardian({.path = "/bin/sh",
                                              .arguments = {"sh", "-c", script},
                                              .signals = {},
                                              .grace = grace,
                                              .terminal_fd = -1,
                                              .wrapper_group = ::getpgrp()});
    return std::move(link.value());
  }

  void start(guardian_link& g, duration term_in, duration kill_in, int life = -1) const {
    const time_point now = clock::now();
    g.raise({now + term_in, now + kill_in});
    ASSERT_TRUE(g.start({mark_, "DIR=" + std::string(folder_.path())}, life, false));
  }

  static std::optional<message> wait_for(guardian_link& g, message::kind what, duration limit) {
    std::optional<message> found;
    within(limit, [&] {
      received r = g.receive();
      if (r.got && r.got->what == what) found = std::move(r.got);
      return found.has_value() || r.closed;
    });
    return found;
  }
};

/// Two that leave the process group and are no longer children of the command, and the command.
constexpr const char* scattered =
    "setsid sleep 60 & (setsid sh -c 'sleep 60 & sleep 60' &) ; sleep 60";

TEST_F(guardian_test, gives_the_exit_status_of_the_command) {
  auto g = guard("exit 7");
  start(g, 30s, 40s);
  const auto ended = wait_for(g, message::kind::ended, 30s);
  ASSERT_TRUE(ended);
  EXPECT_EQ(WEXITSTATUS(ended->number), 7);
  EXPECT_FALSE(ended->flag);
}

TEST_F(guardian_test, names_the_reason_of_a_failed_exec) {
  std::ofstream(file("bad")) << "no program\n";
  std::filesystem::permissions(file("bad"), std::filesystem::perms::owner_all);
  auto link = guardian_link::fork_guardian(
      {.path = file("bad"), .arguments = {"bad"}, .signals = {}, .grace = 1s});
  ASSERT_TRUE(link);
  start(*link, 30s, 40s);
  const auto failed = wait_for(*link, message::kind::start_failed, 30s);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->number, ENOEXEC);
}

TEST_F(guardian_test, ends_descendants_that_left_the_group_when_the_lease_ends) {
  auto g = guard(std::string("trap '' TERM; ") + scattered);
  start(g, 8s, 8500ms);  // Time to start five programs.
  ASSERT_TRUE(within(8s, [&] { return marked() >= 5; }));
  const auto ended = wait_for(g, message::kind::ended, 30s);
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->flag);
  EXPECT_EQ(marked(), 0);
}

TEST_F(guardian_test, kills_without_another_descriptor) {
  auto g = guard(std::string("trap '' TERM; ") + scattered);
  start(g, 8s, 8500ms);
  ASSERT_TRUE(within(8s, [&] { return marked() >= 5; }));
  const rlimit none{0, 0};
  ASSERT_EQ(::prlimit(g.pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  EXPECT_TRUE(within(20s, [&] { return marked() == 0; }));
  EXPECT_TRUE(wait_for(g, message::kind::ended, 5s));
}

TEST_F(guardian_test, asks_with_sigterm_before_it_kills) {
  auto g = guard("trap 'echo asked >$DIR/asked; exit 3' TERM; while :; do sleep 0.01; done");
  const time_point began = clock::now();
  start(g, 3s, 60s);
  const auto ended = wait_for(g, message::kind::ended, 30s);
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->flag);
  EXPECT_GE(clock::now() - began, 3s);
  EXPECT_EQ(contents(file("asked")), "asked\n");
}

TEST_F(guardian_test, a_raised_deadline_lets_the_command_go_on) {
  auto g = guard("sleep 3; exit 5");
  start(g, 2s, 2500ms);
  for (int i = 0; i < 6; ++i) {
    g.raise({clock::now() + 2s, clock::now() + 2500ms});
    pause_for(100ms);
  }
  g.raise({clock::now() + 60s, clock::now() + 90s});
  const auto ended = wait_for(g, message::kind::ended, 30s);
  ASSERT_TRUE(ended);
  EXPECT_FALSE(ended->flag);
  EXPECT_EQ(WEXITSTATUS(ended->number), 5);
}

TEST_F(guardian_test, a_sigterm_for_the_lease_is_not_called_back_by_a_raised_deadline) {
  auto g = guard("trap ': >$DIR/asked' TERM; while :; do sleep 0.01; done");
  start(g, 3s, 6s);
  ASSERT_TRUE(within(30s, [&] { return std::filesystem::exists(file("asked")); }));
  g.raise({clock::now() + 60s, clock::now() + 90s});
  const auto ended = wait_for(g, message::kind::ended, 30s);
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->flag);
}

TEST_F(guardian_test, a_loss_is_acted_on_at_once) {
  auto g = guard("sleep 60");
  start(g, 30s, 40s);
  ASSERT_TRUE(wait_for(g, message::kind::started, 30s));
  g.end_now();
  const auto ended = wait_for(g, message::kind::ended, 30s);
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->flag);
}

TEST_F(guardian_test, has_begun_before_the_command_can_run_and_not_sooner) {
  auto g = guard("exit 0");
  EXPECT_FALSE(g.page().begun);
  start(g, -1ms, 10s);
  ASSERT_TRUE(within(30s, [&] { return g.is_gone(); }));
  EXPECT_FALSE(g.page().begun);
  auto another = guard("echo ran >$DIR/ran; sleep 60");
  start(another, 30s, 40s);
  ASSERT_TRUE(within(30s, [&] { return std::filesystem::exists(file("ran")); }));
  EXPECT_TRUE(another.page().begun);
}

TEST_F(guardian_test, a_command_is_not_started_when_its_lease_has_passed) {
  auto g = guard("echo ran >$DIR/ran");
  start(g, -1ms, 10s);
  const auto failed = wait_for(g, message::kind::start_failed, 30s);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->number, ETIME);
  EXPECT_TRUE(within(30s, [&] { return g.is_gone(); }));
  EXPECT_FALSE(std::filesystem::exists(file("ran")));
}

/// What the command runs under: `left` is what of it still ran when this was given back.
struct given_back {
  const std::function<int()> running;
  int& left;
  ~given_back() { left = running(); }
};

TEST_F(guardian_test, an_exception_ends_the_command_before_its_lock_is_given_back) {
  for (const bool guardian_killed : {false, true}) {
    int left = -1;
    auto g = guard(std::string("trap 'echo asked >$DIR/asked' TERM; ") + scattered, 1500ms);
    try {
      const given_back held{[this] { return marked(); }, left};
      end_command_on_exit ends_first(g, 1500ms, [] { return true; });
      start(g, 50s, 60s);
      if (!within(30s, [&] { return marked() >= 5; })) ADD_FAILURE() << "not started";
      if (guardian_killed) ::kill(g.pid(), SIGKILL);
      throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(left, 0) << guardian_killed;
    }
  }
  EXPECT_EQ(contents(file("asked")), "asked\n");
}

TEST_F(guardian_test, a_stopped_command_still_acts_on_sigterm) {
  auto g = guard("trap 'echo asked >$DIR/asked; exit 3' TERM; kill -STOP $$; sleep 60");
  start(g, 3s, 60s);
  ASSERT_TRUE(wait_for(g, message::kind::stopped, 30s));
  ASSERT_TRUE(wait_for(g, message::kind::ended, 30s));
  EXPECT_EQ(contents(file("asked")), "asked\n");
}

TEST_F(guardian_test, ends_what_a_finished_command_left_behind) {
  auto g = guard("setsid sh -c 'trap \"\" TERM; sleep 60' & sleep 0.2; exit 4", 300ms);
  start(g, 30s, 40s);
  const auto ended = wait_for(g, message::kind::ended, 30s);
  ASSERT_TRUE(ended);
  EXPECT_FALSE(ended->flag);
  EXPECT_EQ(WEXITSTATUS(ended->number), 4);
  EXPECT_EQ(marked(), 0);
}

TEST_F(guardian_test, catches_a_command_that_forks_without_end) {
  auto g = guard("f() { setsid sh -c 'sleep 0.005' & (sleep 0.005; f) & }; f; sleep 60");
  start(g, 1500ms, 1600ms);
  const auto ended = wait_for(g, message::kind::ended, 30s);
  ASSERT_TRUE(ended);
  EXPECT_EQ(marked(), 0);
}

std::atomic<bool> child_was_stopped{};
void on_child(int, siginfo_t* seen, void*) {
  if (seen->si_code == CLD_STOPPED) child_was_stopped = true;
}

void kill_all_children() {
  std::set<process_ref> killed;
  kill_descendants(killed);
}

TEST(process_tree, kills_without_stopping_first) {
  // Whoever is killed between stopping and killing leaves processes stopped for ever.
  struct sigaction watching {};
  struct sigaction before {};
  watching.sa_sigaction = on_child;
  watching.sa_flags = SA_SIGINFO | SA_RESTART;
  ASSERT_EQ(::sigaction(SIGCHLD, &watching, &before), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  kill_all_children();
  int status{};
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  ::sigaction(SIGCHLD, &before, nullptr);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(child_was_stopped);
}

/// How often this process has read; nothing where the kernel does not count that.
std::optional<int> reads_until_now() {
  const std::string io = contents("/proc/self/io");
  const auto at = io.find("syscr: ");
  if (at == std::string::npos) return std::nullopt;
  return std::stoi(io.substr(at + 7));
}

/// A process that does this and stays, as a wrapper that tests kill or stop.
pid_t fork_idle(const std::function<void()>& before) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  before();
  while (true) ::pause();
}

TEST(process_tree, is_walked_without_a_look_at_the_other_processes_of_the_machine) {
  if (!open_own_children()) GTEST_SKIP() << "NOT TESTED: this kernel does not list children";
  std::vector<pid_t> others;
  for (int i = 0; i < 60; ++i) others.push_back(fork_idle([] {}));
  const pid_t root = fork_idle([] { fork_idle([] { ::setsid(), fork_idle([] {}); }); });
  const auto in_tree = [&] { return descendants_of(root).size(); };
  EXPECT_TRUE(within(30s, [&] { return in_tree() == 2; }));
  const auto before = reads_until_now();
  EXPECT_EQ(in_tree(), 2U);
  if (before) {
    EXPECT_LT(*reads_until_now() - *before, 30);
  }
  EXPECT_EQ(descendants_of(::getpid()).size(), 63U);
  kill_all_children();
  while (::waitpid(-1, nullptr, 0) > 0) continue;
}

TEST(process_tree, kills_what_runs_on_when_its_first_thread_has_ended) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] {
      while (true) ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);  // This thread alone.
  }
  const auto stat = "/proc/" + std::to_string(child) + "/stat";
  ASSERT_TRUE(within(30s, [&] { return contents(stat).find(") Z ") != std::string::npos; }));
  EXPECT_EQ(children_of(::getpid()).size(), 1U);
  kill_all_children();
  int status{};
  const bool gone = within(5s, [&] { return ::waitpid(child, &status, WNOHANG) == child; });
  EXPECT_TRUE(gone);
  EXPECT_TRUE(WIFSIGNALED(status));
  if (!gone) ::kill(child, SIGKILL);
}

TEST_F(guardian_test, holds_the_life_descriptor_until_everything_is_gone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  auto g = guard(scattered);
  start(g, 1s, 1500ms, ends[1]);
  ::close(ends[1]);
  char byte{};
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);  // Returns when nobody has the other end any more.
  EXPECT_EQ(marked(), 0);
  ::close(ends[0]);
}

TEST_F(guardian_test, a_killed_guardian_leaves_the_tree_to_the_wrapper) {
  auto g = guard(std::string("trap '' TERM; ") + scattered);
  start(g, 30s, 40s);
  ASSERT_TRUE(within(30s, [&] { return marked() >= 5; }));
  ::kill(g.pid(), SIGKILL);
  ASSERT_TRUE(within(30s, [&] { return g.receive().closed; }));
  EXPECT_TRUE(g.kill_everything(30s));
  EXPECT_EQ(marked(), 0);
}

TEST_F(guardian_test, a_killed_guardian_is_not_avenged_on_what_a_stranger_left) {
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    within(30s, [this] { return std::filesystem::exists(file("now")); });
    if (const pid_t orphan = ::fork(); orphan != 0) {
      std::ofstream(file("orphan")) << orphan << "\n";
      ::_exit(0);
    }
    while (true) ::pause();
  }
  auto g = guard(scattered);
  start(g, 30s, 40s);
  EXPECT_TRUE(within(30s, [&] { return marked() >= 5; }));
  std::ofstream(file("now")) << "";
  ASSERT_TRUE(within(30s, [&] {
    g.look_at_others();
    return ::waitpid(stranger, nullptr, WNOHANG) < 0;  // It was waited for.
  }));
  const pid_t orphan = std::stoi(contents(file("orphan")));
  g.look_at_others();
  ::kill(g.pid(), SIGKILL);
  EXPECT_TRUE(g.kill_everything(30s));
  EXPECT_EQ(marked(), 0);
  EXPECT_EQ(::waitpid(orphan, nullptr, WNOHANG), 0);
  ::kill(orphan, SIGKILL);
  ::waitpid(orphan, nullptr, 0);
}

TEST_F(guardian_test, a_stopped_guardian_is_continued) {
  auto g = guard("sleep 0.3; exit 6");
  start(g, 30s, 40s);
  ::kill(g.pid(), SIGSTOP);
  std::optional<message> ended;
  within(30s, [&] {
    g.is_gone();
    received r = g.receive();
    if (r.got && r.got->what == message::kind::ended) ended = std::move(r.got);
    return ended.has_value();
  });
  ASSERT_TRUE(ended);
  EXPECT_EQ(WEXITSTATUS(ended->number), 6);
}

TEST_F(guardian_test, a_killed_wrapper_takes_the_whole_tree_with_it_at_once) {
  const pid_t wrapper = fork_idle([&] {
    static auto g = guard(std::string("trap '' TERM; ") + scattered);
    start(g, 30s, 40s);
  });
  ASSERT_TRUE(within(30s, [&] { return marked() >= 5; }));
  const time_point killed = clock::now();
  ::kill(wrapper, SIGKILL);
  EXPECT_TRUE(within(30s, [&] { return marked() == 0; }));
  EXPECT_LT(clock::now() - killed, 10s);
  ::waitpid(wrapper, nullptr, 0);
}

TEST_F(guardian_test, a_stopped_wrapper_does_not_keep_the_command_past_the_lease) {
  const time_point end = clock::now() + 6s;
  const pid_t wrapper = fork_idle([&] {
    static auto g = guard("trap '' TERM; while :; do date +%s%N >$DIR/now; done");
    start(g, 5500ms, 6s);
  });
  ASSERT_TRUE(within(5500ms, [&] { return marked() > 0; }));
  ::kill(wrapper, SIGSTOP);
  ASSERT_TRUE(within(30s, [&] { return marked() == 0; }));
  EXPECT_LT(clock::now(), end + 10s);
  ::kill(wrapper, SIGKILL);
  ::waitpid(wrapper, nullptr, 0);
}

}  // namespace
}  // namespace holdfast::cli
