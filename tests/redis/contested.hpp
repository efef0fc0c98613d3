#pragma once

#include "tests/redis/store.hpp"
#include "tests/redis_server/contest.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace holdfast::redis_engine_tests {

/// Clients that contend while something happens to the server: whatever it is, no two hold at once,
/// tokens grow, every call ends, and all go on when it is over.
class contested : public store_test {
 protected:
  contested() { max_ttl = "1s"; }

  /// One client for each URL: the node timeout makes them three, with a connection each.
  static std::vector<std::string> three(const std::string& url) {
    std::vector<std::string> all;
    for (const char* timeout : {"1000ms", "1001ms", "1002ms"}) {
      all.push_back(url + "&ttl=1s&node_timeout=" + timeout);
    }
    return all;
  }
  /// `node` may be another way to the server. Nothing is assumed after this: a wait is a wait.
  std::vector<std::string> founded(const std::string& node) const {
    await(open("redis://" + node + "?assume_fresh=yes&max_ttl=" + max_ttl), status::ok);
    return three("redis://" + node + "?max_ttl=" + max_ttl);
  }
  std::vector<std::string> founded(const server& s) const { return founded(s.address()); }

  static void expect_more(redis_tests::contest& c, std::uint64_t grants = 15) {
    EXPECT_TRUE(c.more(grants)) << c.troubles();
  }
  static void expect_clean_end(redis_tests::contest& c) {
    c.end();
    EXPECT_THAT(c.violations(), testing::IsEmpty()) << c.troubles();
  }
};

}  // namespace holdfast::redis_engine_tests
