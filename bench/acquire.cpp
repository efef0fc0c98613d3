#include "bench/bare_lmdb.hpp"
#include "bench/measure.hpp"
#include "bench/shared_numbers.hpp"
#include "tests/process/child.hpp"

#include <holdfast/session.hpp>

#include <thread>

/// acquire + release without contention, in one process and in sixteen.

namespace holdfast::bench {

using namespace std::chrono_literals;

namespace {

void acquire_and_release(session& s, const lock_name& name) {
  auto l = s.try_acquire(name);
  static_cast<void>(std::move(l.value()).release());
}

sample one_process(const std::string& directory) {
  auto s = holdfast::open("local:" + directory + "/store");
  const lock_name name("nightly");
  bare_lmdb bare(directory + "/bare");
  constexpr int batch = 500;
  std::vector<double> ours, theirs;
  for (int round = 0; round < 60; ++round) {
    auto begin = now_us();
    for (int i = 0; i < batch; ++i) acquire_and_release(s.value(), name);
    ours.push_back((now_us() - begin) / batch);
    begin = now_us();
    for (int i = 0; i < batch; ++i) bare.put_and_delete("nightly");
    theirs.push_back((now_us() - begin) / batch);
  }
  return {median(ours), median(theirs)};
}

/// Operations per second of sixteen processes, each of which makes its own `step` after the fork.
double sixteen(const std::function<std::function<void()>(int)>& prepare) {
  constexpr int processes = 16;
  const shared_numbers shared;
  std::vector<process::child> all;
  for (int p = 0; p < processes; ++p) {
    all.push_back(process::child::fork([&, p] {
      const auto step = prepare(p);
      ++shared[0];
      while (shared[1] == 0) std::this_thread::yield();
      std::uint64_t done = 0;
      for (; shared[2] == 0; ++done) step();
      shared[10 + static_cast<std::size_t>(p)] = done;
      return 0;
    }));
  }
  while (shared[0] != processes) std::this_thread::sleep_for(1ms);
  const auto begin = now_us();
  shared[1] = 1;
  std::this_thread::sleep_for(1s);
  shared[2] = 1;
  const auto took = now_us() - begin;
  double sum = 0;
  for (int p = 0; p < processes; ++p) {
    if (all[static_cast<std::size_t>(p)].wait() != 0) throw std::runtime_error("a process failed");
    sum += static_cast<double>(shared[10 + static_cast<std::size_t>(p)]);
  }
  return sum / took * 1e6;
}

sample sixteen_processes(const std::string& directory) {
  const double ours = sixteen([&](int p) -> std::function<void()> {
    auto s = std::make_shared<session>(holdfast::open("local:" + directory + "/store").value());
    return [s, name = lock_name("name " + std::to_string(p))] { acquire_and_release(*s, name); };
  });
  { const bare_lmdb made(directory + "/bare"); }
  const double bare = sixteen([&](int p) -> std::function<void()> {
    auto b = std::make_shared<bare_lmdb>(directory + "/bare");
    return [b, name = "name " + std::to_string(p)] { b->put_and_delete(name); };
  });
  return {ours, bare};
}

}  // namespace

std::vector<measure> acquire_rows() {
  return {{"acquire + release, one process", "us", "two bare LMDB write transactions",
           bar::ratio_at_most, 1.8, 0, one_process},
          {"acquire + release, 16 processes, 16 names", "1/s", "bare LMDB, 16 processes",
           bar::ratio_at_least, 0.6, 0, sixteen_processes}};
}

}  // namespace holdfast::bench
