#include "core/ttl_advice.hpp"

#include "core/lease.hpp"
#include "core/session_machine.hpp"
#include "core/start_fixture.hpp"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

/// Whether a session lives on when the store answers after `latency`, but not at all for `silence`
/// from the moment at which the session was opened.
bool survives(duration ttl, duration silence, duration latency) {
  lease own;
  session_machine m(ttl, own);
  const time_point silent_until = t0 + latency + silence;
  auto step = m.opened(t0, t0 + latency);
  while (!m.is_final()) {
    const time_point now = step.wake;
    step = m.tick(now);
    if (!step.beat) continue;
    // What is sent into the silence is never answered.
    if (now < silent_until) continue;
    beat_reply ok;
    ok.what = status::ok;
    ok.proves = *step.beat;
    m.beat_answered(*step.beat, ok, now + latency);
    return !m.is_final() && own.check(0ns, now + latency);
  }
  return false;
}

TEST(ttl_advice, survives_the_silence_that_it_is_for_and_is_not_far_from_the_least) {
  for (const duration silence : {0ms, 400ms, 2500ms, 6000ms, 20000ms}) {
    for (const duration latency : {1ms, 30ms, 500ms}) {
      const duration ttl = smallest_ttl(silence, latency);
      for (duration shorter = 0ms; shorter <= silence; shorter += 7ms) {
        ASSERT_TRUE(survives(ttl, shorter, latency)) << (silence / 1ms) << ' ' << (shorter / 1ms);
      }
      const bool least = ttl == ttl_min;
      bool fails = false;
      for (duration longer = silence; longer < silence * 3 / 2 + 500ms; longer += 7ms) {
        fails = fails || !survives(ttl, longer, latency);
      }
      EXPECT_TRUE(least || fails) << (silence / 1ms) << ' ' << (latency / 1ms);
    }
  }
}

TEST(ttl_advice, is_a_number_that_people_would_write) {
  EXPECT_EQ(smallest_ttl(0ns, 0ns), ttl_min);
  EXPECT_EQ(smallest_ttl(0ns, 1ns), ttl_min);
  EXPECT_EQ(smallest_ttl(300ms, 1ms) % 10ms, 0ns);
  EXPECT_EQ(smallest_ttl(3s, 1ms) % 100ms, 0ns);
  EXPECT_EQ(smallest_ttl(30s, 1ms) % 1s, 0ns);
}

}  // namespace
}  // namespace holdfast::core
