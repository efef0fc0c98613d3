#include "core/rounds_fixture.hpp"
#include "engines/local/environment.hpp"
#include "engines/local/floor.hpp"
#include "engines/local/store_fixture.hpp"
#include "io/file/files.hpp"
#include "io/process/life.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <new>
#include <thread>
#include <vector>

namespace holdfast::engines::local {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// A counter that processes share.
class shared_counter {
 public:
  shared_counter() {
    void* memory = ::mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    value_ = new (memory) std::atomic<std::uint64_t>(0);
  }
  shared_counter(const shared_counter&) = delete;
  shared_counter& operator=(const shared_counter&) = delete;
  ~shared_counter() { ::munmap(value_, sizeof *value_); }
  std::atomic<std::uint64_t>& operator*() const { return *value_; }
  bool reach(std::uint64_t n) const {
    for (int i = 0; i < 30'000 && value_->load() < n; ++i) ::usleep(1000);
    return value_->load() >= n;
  }

 private:
  std::atomic<std::uint64_t>* value_;
};

class local_processes : public store_test {};

class local_tokens : public store_test {
 protected:
  /// One token from a session of its own, larger than every one before.
  void next() {
    const auto o = open();
    caller c(o.engine, ++id_);
    EXPECT_EQ(c.open().what, core::status::ok);
    const auto v = c.enqueue("n" + std::to_string(id_));
    EXPECT_EQ(v.what, core::status::ok) << v.text;
    EXPECT_GT(v.mine, last_);
    EXPECT_LE(v.mine, token_max);
    last_ = v.mine;
  }
  void reboot() const { write(file("boot"), "an earlier boot"); }
  std::uint64_t sessions() const { return caller(open().engine, 99).list().sessions.size(); }

 private:
  std::uint64_t id_{};
  token last_{};
};

TEST_F(local_tokens, grow_over_restarts_and_boots) {
  next();
  next();
  EXPECT_EQ(sessions(), 2U);
  for (int boot = 0; boot < 3; ++boot) {
    reboot();
    next();
    EXPECT_EQ(sessions(), 1U) << "sessions of an earlier boot are gone";
  }
}

// Ceilings are a block (a second of microseconds) apart, so they stay below the clock as long as a
// boot takes a second. Here no more than one is written before the file is lost.
TEST_F(local_tokens, grow_when_the_floor_file_is_lost) {
  next();
  fs::remove(file("floor"));  // While the data of this boot are there.
  next();
  reboot();
  fs::remove(file("floor"));  // Together with everything else.
  next();
}

TEST_F(local_tokens, grow_when_the_floor_file_is_garbage) {
  next();
  reboot();
  write(file("floor"), std::string(8192, '\x77'));
  next();
}

TEST_F(local_tokens, grow_where_the_clock_was_set_back) {
  next();
  const auto then = std::chrono::system_clock::now().time_since_epoch() + 1h;
  const std::chrono::duration<std::uint64_t, std::micro> given(then / 1us);
  {
    const auto folder = io::open_directory(path()).value();
    auto floor = token_floor::open({folder.get(), path()}, 0600);
    ASSERT_TRUE(floor && floor->raise(given.count(), 0));
  }
  reboot();
  const auto o = open();
  caller c(o.engine, 50);
  ASSERT_EQ(c.open().what, core::status::ok);
  EXPECT_GT(c.enqueue("a").mine, token{given.count()});
}

TEST_F(local_processes, an_earlier_boots_files_are_discarded_unopened) {
  { const auto o = open(); }
  write(file("boot"), "an earlier boot");
  write(file("data.mdb"), std::string(40'000, '\xa5'));
  write(file("shared"), "torn");
  const auto o = open();
  EXPECT_EQ(caller(o.engine, 1).open().what, core::status::ok);
}

TEST_F(local_processes, a_store_in_use_under_another_boot_id_is_not_discarded) {
  const auto o = open();
  caller c(o.engine, 1);
  ASSERT_EQ(c.open().what, core::status::ok);
  const std::string boot = read(file("boot"));
  write(file("boot"), "a container's own");
  EXPECT_EQ(in_child([&] {
              auto again = open_at(path());
              return !again && again.error() == errc::unavailable ? 0 : 1;
            }),
            0);
  write(file("boot"), boot);
  EXPECT_EQ(c.beat().what, core::status::ok);
}

TEST_F(local_processes, a_store_whose_life_locks_are_held_is_not_discarded) {
  { const auto o = open(); }
  session_id id;
  auto held = io::life_lock::hold(path() + "/life", id);
  ASSERT_TRUE(held);
  write(file("boot"), "another");
  expect_refused(errc::unavailable, "boot id");
  held->forget();
  const auto o = open();
  EXPECT_TRUE(fs::is_empty(path() + "/life"));
}

TEST_F(local_processes, a_forked_child_is_refused_and_may_open_anew) {
  const auto o = open();
  caller c(o.engine, 1);
  ASSERT_EQ(c.open().what, core::status::ok);
  const auto v = c.enqueue("a");
  ASSERT_EQ(v.what, core::status::ok);
  EXPECT_EQ(in_child([&] {
              const auto refused = c.beat();
              if (refused.what != core::status::unavailable) return 1;
              if (refused.text.find("forked") == std::string::npos) return 2;
              auto mine = open_at(path());
              if (!mine) return 3;
              caller own(mine->engine, 2);
              if (own.open().what != core::status::ok) return 4;
              if (own.enqueue("a").what != core::status::queued) return 5;
              if (!c.watch("a", {}, [] {})) return 6;
              return own.close().what == core::status::ok ? 0 : 7;
            }),
            0);
  // Neither the child's end nor its own environment took anything from its parent.
  EXPECT_EQ(c.confirm("a", v.mine).what, core::status::ok);
  EXPECT_EQ(in_child([&] {
              auto again = open_at(path());
              const auto all = again->diagnose();
              for (const auto& f : *all) {
                if (f.text.starts_with("2 of at most")) return 0;
              }
              return 1;
            }),
            0)
      << "the parent must still have its slot";
}

TEST_F(local_processes, a_child_that_drops_what_it_inherited_takes_nothing_from_its_parent) {
  auto o = std::make_optional(open());
  caller c(o->engine, 1);
  ASSERT_EQ(c.open().what, core::status::ok);
  const auto v = c.enqueue("a");
  auto armed = c.watch("a", v, [] {});
  EXPECT_EQ(in_child([&] {
              armed.reset();
              c = caller(nullptr, 0);
              o.reset();
              auto own = open_at(path());
              return own && caller(own->engine, 7).open().what == core::status::ok ? 0 : 1;
            }),
            0);
  EXPECT_EQ(c.beat().what, core::status::ok);
}

TEST_F(local_processes, a_waiter_in_another_process_is_told_when_the_holder_leaves) {
  const auto o = open();
  caller holder(o.engine, 1);
  ASSERT_EQ(holder.open().what, core::status::ok);
  const shared_counter waits;
  for (int round = 0; round < 20; ++round) {
    const std::string name = "n" + std::to_string(round);
    const auto held = holder.enqueue(name);
    ASSERT_EQ(held.what, core::status::ok);
    const pid_t child = ::fork();
    if (child == 0) {
      auto mine = open_at(path());
      if (!mine) ::_exit(1);
      caller c(mine->engine, 100 + static_cast<std::uint64_t>(round));
      if (c.open().what != core::status::ok) ::_exit(2);
      const auto v = c.enqueue(name);
      if (v.what != core::status::queued) ::_exit(3);
      std::atomic<bool> told{false};
      const auto armed = c.watch(name, v, [&] {
        told = true;
        told.notify_all();
      });
      (*waits).fetch_add(1);
      for (int i = 0; i < 30'000 && !told; ++i) ::usleep(1000);
      if (!told) ::_exit(4);
      ::_exit(c.confirm(name, v.mine).what == core::status::ok ? 0 : 5);
    }
    ASSERT_TRUE(waits.reach(static_cast<std::uint64_t>(round) + 1));
    ASSERT_EQ(holder.leave(name, held.mine).what, core::status::ok);
    EXPECT_EQ(code_of(child), 0);
  }
}

/// Takes and leaves one name for ever, checking that nobody else is inside.
int work(const std::string& path, std::uint64_t id, std::atomic<std::uint64_t>& done) {
  auto o = open_at(path);
  if (!o) return 1;
  caller c(o->engine, id);
  if (c.open().what != core::status::ok) return 2;
  for (;;) {
    const auto v = c.enqueue("x", mode::exclusive(), true);
    // Nobody takes it from one that was killed with it: then all others only see that it is busy.
    done.fetch_add(1);
    if (v.what == core::status::busy) continue;
    if (v.what != core::status::ok) return 3;
    if (c.leave("x", v.mine).what != core::status::ok) return 4;
  }
}

TEST_F(local_processes, killed_at_any_moment_it_stays_usable) {
  const auto o = open();
  const shared_counter done;
  token last{};
  auto fastest = std::chrono::steady_clock::duration::max();
  // A machine that gets nothing done before the kill, say under a sanitizer, is given longer.
  useconds_t slow = 1;
  for (std::uint64_t round = 0; round < 60; ++round) {
    if ((*done).load() == 0 && round > 9 && slow < 512) slow *= 2;
    const pid_t a = ::fork();
    if (a == 0) ::_exit(work(path(), 1000 + 2 * round, *done));
    const pid_t b = ::fork();
    if (b == 0) ::_exit(work(path(), 1001 + 2 * round, *done));
    ::usleep(slow * static_cast<useconds_t>(2000 + 713 * (round % 29)));
    ::kill(a, SIGKILL);
    ::kill(b, SIGKILL);
    EXPECT_EQ(code_of(a), 128 + SIGKILL);
    EXPECT_EQ(code_of(b), 128 + SIGKILL);
    caller c(o.engine, round + 1);
    const auto before = std::chrono::steady_clock::now();
    ASSERT_EQ(c.open().what, core::status::ok) << round;
    const auto v = c.enqueue("own" + std::to_string(round));
    ASSERT_EQ(v.what, core::status::ok) << v.text;
    EXPECT_GT(v.mine, last);
    last = v.mine;
    EXPECT_EQ(c.list().what, core::status::ok);
    fastest = std::min(fastest, std::chrono::steady_clock::now() - before);
    ASSERT_EQ(c.close().what, core::status::ok);
  }
  EXPECT_LT(fastest, 1s) << "every time it waits for the dead";
  EXPECT_GT((*done).load(), 0U);
}

TEST_F(local_processes, opening_killed_at_any_moment_can_be_done_again) {
  for (int round = 0; round < 40; ++round) {
    fs::remove_all(path());
    const pid_t child = ::fork();
    if (child == 0) ::_exit(open_at(path()) ? 0 : 1);
    ::usleep(static_cast<useconds_t>(50 + 90 * round));
    ::kill(child, SIGKILL);
    (void)code_of(child);
    const auto o = open();
    ASSERT_EQ(caller(o.engine, 1).open().what, core::status::ok) << round;
  }
}

TEST_F(local_processes, many_that_make_it_together_all_get_it) {
  const shared_counter ready;
  const auto rounds = static_cast<std::uint64_t>(core::shortened(50));
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    fs::remove_all(path());
    std::vector<pid_t> all;
    for (int i = 0; i < 8; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        (*ready).fetch_add(1);
        (void)ready.reach(8 * round);
        const auto o = open_at(path());
        if (!o) std::fprintf(stderr, "%s\n", o.error().message().c_str());
        ::_exit(o ? 0 : 1);
      }
      all.push_back(child);
    }
    for (const pid_t child : all) EXPECT_EQ(code_of(child), 0) << "round " << round;
    if (HasFailure()) return;
  }
}

TEST_F(local_processes, a_process_stopped_inside_makes_others_unavailable_and_is_named) {
  { const auto o = open(); }
  const shared_counter inside;
  const pid_t child = ::fork();
  if (child == 0) {
    auto mine = environment::open({path(), {}});
    if (!mine) ::_exit(1);
    (void)(*mine)->write([&](transaction&, wake_list&) {
      (*inside).store(1);
      for (;;) ::pause();
    });
  }
  ASSERT_TRUE(inside.reach(1));
  EXPECT_EQ(in_child([&] {
              auto o = open_at(path());  // Cannot even be opened, and says who is in the way.
              return !o && o.error().message().find(std::to_string(child)) != std::string::npos ? 0
                                                                                                : 1;
            }),
            0);
  EXPECT_EQ(in_child([&] {
              if (::unshare(CLONE_NEWPID) != 0) return 0;
              return in_child([&] {
                const auto o = open_at(path());
                const std::string who = "is held by a process of another pid namespace";
                return !o && o.error().message().find(who) != std::string::npos ? 0 : 1;
              });
            }),
            0);
  ::kill(child, SIGKILL);
  (void)code_of(child);
  const auto o = open();
  EXPECT_EQ(caller(o.engine, 1).open().what, core::status::ok);
}

// What a killed opener has forked still has the lock: 0 when whoever wants in is told so.
int left_behind(const std::string& where, pid_t killed) {
  const auto o = open_at(where);
  const std::string first = "process " + std::to_string(killed) + " ended while it was opening ";
  const bool told = !o && o.error().message().starts_with(first + where) &&
                    o.error().message().find("that it forked") != std::string::npos;
  if (!told && !o) std::fprintf(stderr, "%s\n", o.error().message().c_str());
  return told ? 0 : 1;
}

TEST_F(local_processes, a_process_stopped_while_opening_is_named) {
  const auto stop_inside = [](const std::string& where) {
    const shared_counter inside;
    const pid_t child = ::fork();
    if (child == 0) {
      auto half = directory::open({where, {}});
      if (half) (*inside).store(1);
      for (;;) ::pause();
    }
    EXPECT_TRUE(inside.reach(1));
    return child;
  };
  const auto end = [](pid_t child) {
    ::kill(child, SIGKILL);
    (void)code_of(child);
  };
  const auto refused = [](const std::string& where, const std::string& who) {
    const auto o = open_at(where);
    if (o || o.error() != errc::unavailable) return 1;
    if (o.error().message().starts_with(who + " been opening " + where)) return 0;
    std::fprintf(stderr, "%s\n", o.error().message().c_str());
    return 2;
  };
  const auto in_the_way = [&](const std::string& where) {
    io::unique_fd fd(::open((where + "/lock").c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_TRUE(*io::try_lock_byte(fd.get(), 0, io::share::alone));
    return fd;
  };
  // The text of one who was killed is left.
  const std::string forked = root() + "/forked";
  const pid_t killed = stop_inside(forked);
  end(killed);
  const std::string busy = root() + "/busy";
  end(stop_inside(busy));
  const auto fds = std::array{in_the_way(forked), in_the_way(busy)};
  const pid_t stopped = stop_inside(path());

  // At the same time: each waits the five seconds after which it gives up.
  std::vector<pid_t> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(::fork());
    if (all.back() != 0) continue;
    if (i == 0) ::_exit(refused(path(), "process " + std::to_string(stopped) + " has"));
    if (i == 1) ::_exit(left_behind(forked, killed));
    if (i == 2) ::_exit(refused(busy, "several processes have"));
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(0);
    ::_exit(in_child([&] { return refused(path(), "a process of another pid namespace has"); }));
  }
  // Others come and go in one of them.
  for (int n = 0; n < 30; ++n) {
    std::ofstream(busy + "/lock", std::ios::in) << n + 1 << " 1" << std::flush;
    ::usleep(200'000);
  }
  for (const pid_t one : all) EXPECT_EQ(code_of(one), 0);
  end(stopped);
  EXPECT_EQ(in_child([&] { return open_at(path()) ? 0 : 1; }), 0);
}

TEST_F(local_processes, doctor_names_the_process_that_is_stuck) {
  const auto o = open();
  const shared_counter inside;
  const pid_t child = ::fork();
  if (child == 0) {
    auto mine = environment::open({path(), {}});
    if (!mine) ::_exit(1);
    (void)(*mine)->write([&](transaction&, wake_list&) {
      (*inside).store(1);
      for (;;) ::pause();
    });
  }
  ASSERT_TRUE(inside.reach(1));
  ::kill(child, SIGSTOP);
  caller c(o.engine, 1);
  const auto refused = c.open();
  EXPECT_EQ(refused.what, core::status::unavailable);
  EXPECT_NE(refused.text.find("process " + std::to_string(child)), std::string::npos);
  const auto all = o.diagnose();
  ASSERT_TRUE(all);
  bool named = false;
  for (const auto& f : *all) {
    named = named || (f.severity == severity::fault &&
                      f.text.find(std::to_string(child)) != std::string::npos);
  }
  EXPECT_TRUE(named);
  ::kill(child, SIGKILL);
  (void)code_of(child);
  EXPECT_EQ(c.open().what, core::status::ok);
}

TEST_F(local_processes, two_that_are_both_pid_1_share_one_store) {
  { const auto o = open(); }
  const shared_counter granted;
  const auto start = [&](std::uint64_t id) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(99);
    const pid_t first = ::fork();
    if (first != 0) ::_exit(code_of(first));
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getpid() != 1) ::_exit(98);
    auto o = open_at(path());
    if (!o) ::_exit(1);
    caller c(o->engine, id);
    if (c.open().what != core::status::ok) ::_exit(2);
    for (int i = 0; i < 500;) {
      const auto v = c.enqueue("x", mode::exclusive(), true);
      if (v.what == core::status::busy) continue;
      if (v.what != core::status::ok) ::_exit(3);
      if ((*granted).fetch_add(1) % 2 != 0) ::_exit(4);  // Somebody else is inside.
      (*granted).fetch_add(1);
      if (c.leave("x", v.mine).what != core::status::ok) ::_exit(5);
      ++i;
    }
    ::_exit(0);
  };
  const pid_t a = start(1);
  const pid_t b = start(2);
  const int first = code_of(a);
  const int second = code_of(b);
  if (first == 99 || second == 99) GTEST_SKIP() << "NOT TESTED: no pid namespaces here";
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 0);
  EXPECT_EQ((*granted).load(), 2000U);
}

}  // namespace
}  // namespace holdfast::engines::local
