#pragma once

#include "bench/figures.hpp"
#include "bench/measure.hpp"
#include "bench/redis/redis_servers.hpp"
#include "bench/usage.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

/// What one side did in one stretch, for one acquire and release.
struct cost {
  double per_second{};
  double client_us{};
  double server_us{};
  double calls{};
};

class meter {
 public:
  explicit meter(const redis_servers& s) : servers_(s) {}
  cost read(std::uint64_t pairs, std::uint64_t calls) const {
    const auto n = static_cast<double>(pairs);
    return {.per_second = n / ((now_us() - began_) / 1e6),
            .client_us = (own_cpu_seconds() - client_) * 1e6 / n,
            .server_us = (servers_.cpu_seconds() - server_) * 1e6 / n,
            .calls = static_cast<double>(calls) / n};
  }

 private:
  const redis_servers& servers_;
  const double began_{now_us()};
  const double client_{own_cpu_seconds()};
  const double server_{servers_.cpu_seconds()};
};

/// Both sides, once for each round.
struct comparison {
  std::vector<cost> ours;
  std::vector<cost> bare;

  figure take(const std::string& name, const char* unit, double cost::*which, figure::goal kind,
              double limit) const {
    figure n{name, unit, {}, {}, kind, limit};
    for (const cost& x : ours) n.ours.push_back(x.*which);
    for (const cost& x : bare) n.bare.push_back(x.*which);
    return n;
  }
};

}  // namespace holdfast::bench
