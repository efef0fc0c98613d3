#include "core/ttl_advice.hpp"

#include "core/lease.hpp"
#include "core/session_machine.hpp"
#include "core/start_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <utility>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

/// A store that acknowledges each heartbeat after `latency`, unless that is within the silence.
struct quiet_store {
  duration latency{};
  time_point silent_from{};
  duration silence{};

  bool answers_what_was_sent_at(time_point sent) const {
    return sent + latency < silent_from || sent >= silent_from + silence;
  }
};

/// Whether a session lives on, with time enough left to stop `early`.
bool survives(duration ttl, const quiet_store& s, duration early) {
  lease own;
  session_machine m(ttl, own);
  std::deque<std::pair<std::uint64_t, time_point>> answers;
  auto step = m.opened(t0, t0 + s.latency);
  const time_point end = s.silent_from + s.silence + ttl;
  while (!m.is_final()) {
    const bool is_answer = !answers.empty() && answers.front().second <= step.wake;
    const time_point now = is_answer ? answers.front().second : step.wake;
    if (now >= own.until() - early) return false;
    if (now >= end) return true;
    if (!is_answer) {
      step = m.tick(now);
      if (step.beat && s.answers_what_was_sent_at(now)) {
        answers.emplace_back(*step.beat, now + s.latency);
      }
      continue;
    }
    beat_reply ok;
    ok.what = status::ok;
    ok.proves = answers.front().first;
    answers.pop_front();
    step = m.beat_answered(ok.proves, ok, now);
  }
  return false;
}

/// Whenever the silence begins, also just before the first beat would be acknowledged.
bool always_survives(duration ttl, duration silence, duration latency, duration early) {
  const time_point opened = t0 + latency;
  const duration last = ttl / 3;
  for (int part = 0; part <= 8; ++part) {
    const quiet_store s{latency, opened + last * part / 8, silence};
    if (!survives(ttl, s, early)) return false;
  }
  return true;
}

duration a_quarter(duration ttl) { return std::min<duration>(5s, ttl / 4); }

TEST(ttl_advice, survives_the_silence_that_it_is_for_and_is_not_far_from_the_least) {
  for (const early_stop& early :
       {early_stop([](duration) { return 0ms; }), early_stop(a_quarter)}) {
    for (const duration silence : {0ms, 400ms, 2500ms, 6000ms, 20000ms}) {
      for (const duration latency : {1ms, 30ms, 500ms}) {
        const duration ttl = smallest_ttl(silence, latency, early);
        for (duration shorter = 0ms; shorter <= silence; shorter += 37ms) {
          ASSERT_TRUE(always_survives(ttl, shorter, latency, early(ttl)))
              << (silence / 1ms) << ' ' << (shorter / 1ms) << ' ' << (latency / 1ms);
        }
        ASSERT_TRUE(always_survives(ttl, silence, latency, early(ttl)));
        bool fails = ttl == ttl_min;
        for (duration longer = silence; longer < silence * 5 / 4 + 500ms; longer += 7ms) {
          fails = fails || !always_survives(ttl, longer, latency, early(ttl));
        }
        EXPECT_TRUE(fails) << (silence / 1ms) << ' ' << (latency / 1ms);
      }
    }
  }
}

// What docs/etcd.md and docs/zookeeper.md tell of servers with their usual settings.
TEST(ttl_advice, is_what_the_documentation_says_of_the_usual_servers) {
  const early_stop run = [](duration ttl) { return a_quarter(ttl) + ttl / 50; };
  EXPECT_EQ(smallest_ttl(4668ms, 4ms), 9400ms);
  EXPECT_EQ(smallest_ttl(4668ms, 4ms, run), 15s);
  EXPECT_EQ(smallest_ttl(11s, 4ms), 23s);
  EXPECT_EQ(smallest_ttl(11s, 4ms, run), 34s);
}

TEST(ttl_advice, ends_where_no_ttl_is_long_enough) {
  EXPECT_GE(smallest_ttl(1s, 1ms, [](duration ttl) { return ttl; }), ttl_max);
}

TEST(ttl_advice, is_a_number_that_people_would_write) {
  EXPECT_EQ(smallest_ttl(0ns, 0ns), ttl_min);
  EXPECT_EQ(smallest_ttl(0ns, 1ns), ttl_min);
  EXPECT_EQ(smallest_ttl(300ms, 1ms) % 10ms, 0ns);
  EXPECT_EQ(smallest_ttl(3s, 1ms) % 100ms, 0ns);
  EXPECT_EQ(smallest_ttl(30s, 1ms) % 1s, 0ns);
}

TEST(ttl_advice, names_no_short_ttl_for_who_stops_earlier_than_any_lasts) {
  for (const duration stop : {duration(1h), duration(forever)}) {
    EXPECT_GT(smallest_ttl(0ms, 40ms, [stop](duration) { return stop; }), ttl_max);
  }
}

}  // namespace
}  // namespace holdfast::core
