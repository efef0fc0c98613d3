#include "core/lease.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

#include <thread>
#include <vector>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

TEST(lease, is_lost_before_it_starts) {
  lease l;
  EXPECT_TRUE(l.is_lost());
  EXPECT_FALSE(l.check(0ns, t0));
  EXPECT_FALSE(l.extend(t0 + 1s, t0));
}

TEST(lease, holds_until_its_deadline_and_not_a_nanosecond_longer) {
  lease l(t0);
  EXPECT_TRUE(l.check(0ns, t0 - 1ns));
  EXPECT_EQ(l.remaining(t0 - 5s), 5s);
  EXPECT_EQ(l.remaining(t0), 0s);
  EXPECT_EQ(l.remaining(t0 + 5s), 0s);
  EXPECT_FALSE(l.check(0ns, t0));
  EXPECT_TRUE(l.is_lost()) << "a check that finds it passed ends it";
}

TEST(lease, a_check_for_more_than_is_left_fails_and_ends_nothing) {
  lease l(t0);
  EXPECT_FALSE(l.check(2s, t0 - 1s));
  EXPECT_TRUE(l.check(1s, t0 - 1s));
}

TEST(lease, is_extended_in_time_and_never_shortened) {
  lease l(t0);
  EXPECT_TRUE(l.extend(t0 + 5s, t0 - 1ns));
  EXPECT_EQ(l.until(), t0 + 5s);
  EXPECT_TRUE(l.extend(t0 + 1s, t0));
  EXPECT_EQ(l.until(), t0 + 5s);
}

TEST(lease, is_shortened_but_never_lengthened_or_revived_by_it) {
  lease l(t0);
  l.shorten(t0 + 1s);
  EXPECT_EQ(l.until(), t0);
  l.shorten(t0 - 2s);
  EXPECT_EQ(l.until(), t0 - 2s);
  l.lose();
  l.shorten(t0 - 3s);
  EXPECT_TRUE(l.is_lost());
}

TEST(lease, is_lost_by_an_extension_that_comes_too_late) {
  lease l(t0);
  EXPECT_FALSE(l.extend(t0 + 5s, t0));
  EXPECT_TRUE(l.is_lost());
  EXPECT_EQ(l.until(), time_point::min());
}

TEST(lease, expires_only_when_it_has_passed_and_tells_one_caller) {
  lease l(t0);
  EXPECT_FALSE(l.expire(t0 - 1ns));
  EXPECT_FALSE(l.is_lost());
  EXPECT_TRUE(l.expire(t0));
  EXPECT_FALSE(l.expire(t0));
}

TEST(lease, is_lost_at_any_time_by_one_caller) {
  lease l(t0);
  EXPECT_TRUE(l.lose());
  EXPECT_FALSE(l.lose());
}

TEST(lease, once_lost_nothing_brings_it_back) {
  lease l(t0);
  l.lose();
  EXPECT_FALSE(l.extend(t0 + 1h, t0 - 1s));
  EXPECT_FALSE(l.check(0ns, t0 - 1s));
  EXPECT_FALSE(l.expire(t0 + 1s));
  EXPECT_EQ(l.remaining(t0 - 1s), 0s);
}

TEST(lease, threads_agree_on_one_end_and_no_extension_follows_it) {
  for (int round = 0; round < 200; ++round) {
    lease l(t0);
    std::atomic<int> ended{0}, revived{0};
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n) {
      threads.emplace_back([&, n] {
        for (int i = 0; i < 50; ++i) {
          const time_point now = t0 - 25ms + i * 1ms;
          if (n < 2) {
            const bool before = l.is_lost();
            if (l.extend(now + 30ms, now) && before) ++revived;
          } else if (i == 40 ? l.lose() : l.expire(now)) {
            ++ended;
          }
        }
      });
    }
    for (auto& t : threads) t.join();
    // An extension that came too late ends it as well and tells nobody.
    EXPECT_LE(ended, 1);
    EXPECT_EQ(revived, 0);
    EXPECT_TRUE(l.is_lost());
  }
}

TEST(lease, the_holder_always_stops_before_a_successor_takes_over) {
  for (const duration ttl :
       {duration(ttl_min), duration(1s), duration(ttl_default), duration(ttl_max)}) {
    EXPECT_GT(usable(ttl), 0s);
    // Clocks apart by rho on each side of true time still leave both margins.
    EXPECT_GT(takeover_after(ttl) - ttl / 200, usable(ttl) + ttl / 200);
  }
}

}  // namespace
}  // namespace holdfast::core
