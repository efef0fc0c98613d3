#include "bench/measure.hpp"

#include <holdfast/fence.hpp>

#include <atomic>
#include <stdexcept>

namespace holdfast::bench {

namespace {

constexpr int batch = 1'000'000;

/// As much as is left of a compare with a floor when everything else is taken away.
double bare_load(std::atomic<std::uint64_t>& floor) {
  const auto begin = now_us();
  std::uint64_t stale = 0;
  for (int i = 0; i < batch; ++i) {
    stale += floor.load(std::memory_order_seq_cst) > 42 ? 1 : 0;
    asm volatile("" : "+r"(stale));
  }
  if (stale != 0) throw std::runtime_error("stale");
  return (now_us() - begin) / batch * 1e3;
}

sample admit(mode how) {
  const fencing_token t{{store_identity("local/9f0c4a7be12d4c05a1b2c3d4e5f60718"),
                         lock_name("nightly-backup-of-the-archive")},
                        token{42}};
  fence f;
  if (!f.admit(t, how)) throw std::runtime_error("not admitted");
  std::atomic<std::uint64_t> floor{42};
  std::vector<double> ours, bare;
  for (int round = 0; round < 20; ++round) {
    const auto begin = now_us();
    for (int i = 0; i < batch; ++i) {
      if (!f.admit(t, how)) throw std::runtime_error("not admitted");
    }
    ours.push_back((now_us() - begin) / batch * 1e3);
    bare.push_back(bare_load(floor));
  }
  return {median(ours), median(bare)};
}

}  // namespace

std::vector<measure> fence_rows() {
  const auto row = [](const char* name, mode how) {
    return measure{
        name, "ns", "atomic load", bar::ours_over_bare_at_most, 10, 0, [how](const std::string&) {
          return admit(how);
        }};
  };
  return {row("fence.admit()", mode::exclusive()), row("fence.admit(), shared", mode::shared())};
}

}  // namespace holdfast::bench
