#include "bench/measure.hpp"

#include <holdfast/session.hpp>

#include <time.h>

namespace holdfast::bench {

namespace {

sample check(const std::string& directory) {
  auto s = holdfast::open("local:" + directory + "/store");
  auto l = s->try_acquire(lock_name("x"));
  constexpr int batch = 100'000;
  std::vector<double> ours, bare;
  for (int round = 0; round < 20; ++round) {
    auto begin = now_us();
    for (int i = 0; i < batch; ++i) {
      if (!l->check()) throw std::runtime_error("lost");
    }
    ours.push_back((now_us() - begin) / batch * 1e3);
    begin = now_us();
    for (int i = 0; i < batch; ++i) {
      timespec t;
      ::clock_gettime(CLOCK_BOOTTIME, &t);
    }
    bare.push_back((now_us() - begin) / batch * 1e3);
  }
  return {median(ours), median(bare)};
}

}  // namespace

std::vector<measure> check_rows() {
  return {
      {"lock.check()", "ns", "clock_gettime(CLOCK_BOOTTIME)", bar::ratio_at_most, 2.5, 0, check}};
}

}  // namespace holdfast::bench
