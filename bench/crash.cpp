#include "bench/measure.hpp"
#include "bench/shared_numbers.hpp"
#include "tests/process/child.hpp"
#include "tests/process/page.hpp"

#include <holdfast/session.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

/// From kill -9 of a holder to the start of the next one, beside the kernel's own part: from
/// kill -9 to a readable pidfd.

namespace holdfast::bench {

using namespace std::chrono_literals;

namespace {

double boottime_us() { return static_cast<double>(clock::now().time_since_epoch().count()) / 1e3; }

double bare_death() {
  auto victim = process::child::fork([] {
    ::pause();
    return 0;
  });
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, victim.pid(), 0));
  std::this_thread::sleep_for(1ms);
  const auto begin = now_us();
  victim.signal(SIGKILL);
  pollfd p{fd, POLLIN, 0};
  ::poll(&p, 1, 1000);
  const auto took = now_us() - begin;
  ::close(fd);
  return took;
}

double library_holder(const std::string& url) {
  const shared_numbers n;
  const lock_name name("x");
  auto holder = process::child::fork([&] {
    auto s = holdfast::open(url);
    auto l = s->acquire(name, {.wait = 10s});
    n[0] = l ? 1 : 2;
    ::pause();
    return 0;
  });
  while (n[0] == 0) std::this_thread::sleep_for(100us);
  auto waiter = process::child::fork([&] {
    auto s = holdfast::open(url);
    n[1] = 1;
    auto l = s->acquire(name, {.wait = 10s});
    n[2] = static_cast<std::uint64_t>(boottime_us() * 1e3);
    return l && std::move(*l).release() ? 0 : 1;
  });
  while (n[1] == 0) std::this_thread::sleep_for(100us);
  std::this_thread::sleep_for(3ms);
  const auto begin = boottime_us();
  holder.signal(SIGKILL);
  if (waiter.wait() != 0) throw std::runtime_error("the waiter did not get it");
  return static_cast<double>(n[2]) / 1e3 - begin;
}

sample library_crash(const std::string& directory) {
  std::vector<double> ours, bare;
  for (int i = 0; i < 60; ++i) {
    bare.push_back(bare_death());
    ours.push_back(library_holder("local:" + directory + "/store"));
  }
  return {median(ours), median(bare), percentile(ours, 0.99)};
}

double wrapper_crash(const programs& p, const std::string& directory, int round) {
  const process::shared_page first(directory + "/first" + std::to_string(round));
  const process::shared_page second(directory + "/second" + std::to_string(round));
  const auto start = [&](const std::string& page) {
    return process::child::execute(
        {p.holdfast, "run", "x", "--store", "local:" + directory + "/store", "--", p.stamp, page});
  };
  auto holder = start(directory + "/first" + std::to_string(round));
  process::eventually([&] { return first->first_write != 0; });
  auto waiter = start(directory + "/second" + std::to_string(round));
  std::this_thread::sleep_for(30ms);
  const auto begin = boottime_us();
  holder.signal(SIGKILL);
  if (!process::eventually([&] { return second->first_write != 0; })) {
    throw std::runtime_error("the next command did not start");
  }
  second->stop = 1;
  waiter.wait();
  return static_cast<double>(second->first_write) / 1e3 - begin;
}

}  // namespace

std::vector<measure> crash_rows(const programs& p) {
  const auto wrapper = [p](const std::string& directory) -> sample {
    process::adopt_orphans();
    std::vector<double> ours, bare;
    for (int i = 0; i < 10; ++i) {
      bare.push_back(bare_death());
      ours.push_back(wrapper_crash(p, directory, i));
    }
    return {median(ours), median(bare)};
  };
  return {{"kill -9 of a holder to the next holder", "us", "kill -9 to a readable pidfd",
           bar::ours_at_most, 2'000, 20'000, library_crash},
          {"kill -9 of a run wrapper to the next command", "us", "kill -9 to a readable pidfd",
           bar::ours_at_most, 10'000, 0, wrapper}};
}

}  // namespace holdfast::bench
