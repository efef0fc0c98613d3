#include "bench/bare_lmdb.hpp"

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <benchmark/benchmark.h>

#include <time.h>

#include <cstdlib>
#include <filesystem>
#include <string>

/// The calls a program makes most, one at a time. For numbers beside a bare loop see bench/run.

namespace holdfast::bench {
namespace {

/// One directory for the whole program, removed at its end.
const std::string& directory() {
  static const struct made {
    made() { path = ::mkdtemp(path.data()); }
    ~made() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::string path = (std::filesystem::temp_directory_path() / "holdfast-micro-XXXXXX").string();
  } here;
  return here.path;
}

session open_session(const std::string& scheme) {
  return holdfast::open(scheme + (scheme == "local:" ? directory() + "/store" : "micro")).value();
}

void acquire_and_release(benchmark::State& state, const std::string& scheme) {
  auto s = open_session(scheme);
  const lock_name name("x");
  for (auto _ : state) {
    auto l = s.try_acquire(name);
    benchmark::DoNotOptimize(std::move(l.value()).release());
  }
}
BENCHMARK_CAPTURE(acquire_and_release, local, "local:");
BENCHMARK_CAPTURE(acquire_and_release, memory, "memory:");

void busy_try(benchmark::State& state) {
  auto holder = open_session("local:");
  const auto held = holder.try_acquire(lock_name("x"));
  auto other = open_session("local:");
  for (auto _ : state) benchmark::DoNotOptimize(other.try_acquire(lock_name("x")));
}
BENCHMARK(busy_try);

void open_and_close(benchmark::State& state) {
  for (auto _ : state) static_cast<void>(open_session("local:").close());
}
BENCHMARK(open_and_close);

void list(benchmark::State& state) {
  auto s = open_session("local:");
  std::vector<lock> held;
  for (int i = 0; i < state.range(0); ++i) {
    held.push_back(s.try_acquire(lock_name("name " + std::to_string(i))).value());
  }
  auto whole = store::open("local:" + directory() + "/store");
  for (auto _ : state) benchmark::DoNotOptimize(whole->list());
}
BENCHMARK(list)->Arg(1)->Arg(1000);

void check(benchmark::State& state) {
  auto s = open_session("local:");
  const auto held = s.try_acquire(lock_name("x"));
  for (auto _ : state) benchmark::DoNotOptimize(held->check());
}
BENCHMARK(check);

void clock_gettime_boottime(benchmark::State& state) {
  timespec t;
  for (auto _ : state) benchmark::DoNotOptimize(::clock_gettime(CLOCK_BOOTTIME, &t));
}
BENCHMARK(clock_gettime_boottime);

void two_bare_lmdb_transactions(benchmark::State& state) {
  bare_lmdb bare(directory() + "/bare");
  for (auto _ : state) bare.put_and_delete("x");
}
BENCHMARK(two_bare_lmdb_transactions);

}  // namespace
}  // namespace holdfast::bench

BENCHMARK_MAIN();
