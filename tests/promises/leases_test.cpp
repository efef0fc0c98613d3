#include "tests/promises/store_promises.hpp"

#include "tests/temporary_directory.hpp"

#include <holdfast/fenced.hpp>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

/// A lease: it is extended for as long as the store answers, and by nothing else.

namespace holdfast::promises {
namespace {

TEST_P(store_promises, a_session_lives_for_longer_than_its_ttl_by_its_heartbeats) {
  with_short_leases([this](duration ttl) {
    const auto heard = std::make_shared<listener>();
    const auto began = clock::now();
    session s = open(ttl, heard);
    const lock held = held_by(s, "a");
    EXPECT_LE(s.remaining(), ttl);
    // A beat every third of a ttl.
    EXPECT_TRUE(eventually(
        [&] { return heard->count("beat") >= 4 || s.status().state == session_state::expired; },
        long_enough));
    if (s.status().state == session_state::expired) return false;
    EXPECT_GT(clock::now() - began, ttl);
    const auto seen = list();
    const auto* const listed = seen.find(s.id());
    if (kind().counts_beats && listed != nullptr) {
      EXPECT_GE(listed->beats, 4U);
    }
    EXPECT_LE(s.remaining(), ttl);
    EXPECT_LE(held.remaining(), ttl);
    const auto checked = held.check();
    return checked.has_value() || s.status().state != session_state::expired;
  });
}

/// Servers that answer again, whatever the test finds.
class frozen {
 public:
  explicit frozen(void (*freeze)(bool)) : freeze_(freeze) { freeze_(true); }
  frozen(const frozen&) = delete;
  frozen& operator=(const frozen&) = delete;
  ~frozen() { thaw(); }
  void thaw() {
    if (freeze_ != nullptr) std::exchange(freeze_, nullptr)(false);
  }

 private:
  void (*freeze_)(bool);
};

TEST_P(server_promises, a_lease_never_grows_while_the_store_is_silent_and_its_end_is_final) {
  with_short_leases([this](duration ttl) {
    std::promise<errc> why;
    auto told = why.get_future();
    const auto heard = std::make_shared<listener>();
    session s = open(ttl, heard);
    lock held = held_by(s, "a");
    held.on_lost([&](const error& e) { why.set_value(e.code()); });
    const token was = held.token();
    frozen servers(kind().freeze);
    // From here on no answer is under way, but on a machine that stood still.
    EXPECT_TRUE(
        eventually([&] { return s.status().state != session_state::attached; }, long_enough));
    duration least = duration::max();
    bool grew = false;
    const auto known_deadline = [&] {
      const auto left = held.remaining();
      return clock::now().time_since_epoch() + left;  // Or later than it is, never earlier.
    };
    const auto is_over = [&] {
      const auto before = clock::now().time_since_epoch();
      const auto left = held.remaining();
      if (left == 0s) return true;
      grew = grew || before + left > least;
      least = std::min(least, duration(known_deadline()));
      return false;
    };
    EXPECT_TRUE(eventually(is_over, long_enough));
    EXPECT_EQ(code(held.check()), errc::lost);
    const auto in_time = comes(told);
    EXPECT_TRUE(in_time) << "a store that hangs cannot delay it";
    if (in_time) {
      EXPECT_EQ(told.get(), errc::lost);
    }
    EXPECT_TRUE(heard->comes_to_hear("session expired"));
    EXPECT_TRUE(held.lost().stop_requested());
    EXPECT_TRUE(s.lost().stop_requested());
    servers.thaw();
    session other = open();
    auto l = other.acquire(lock_name("a"), {.wait = long_enough});
    EXPECT_TRUE(succeeded(l) && l->token() > was);
    EXPECT_EQ(code(held.check()), errc::lost) << "whatever the store says later";
    EXPECT_EQ(held.token(), was);
    EXPECT_EQ(code(s.try_acquire(lock_name("b"))), errc::lost);
    EXPECT_EQ(code(std::move(held).release()), errc::lost);
    EXPECT_TRUE(l && l->check());
    return !grew;
  });
}

TEST_P(server_promises, a_question_that_is_not_answered_has_no_outcome_that_is_unknown) {
  const duration ttl = 4s;
  session s = open(ttl);
  auto ops = store::open(url_for(ttl)).value();
  EXPECT_TRUE(succeeded(ops.list()));
  const tests::temporary_directory fences;
  const std::string fence = "file:" + fences.path() + "/f";
  const frozen servers(kind().freeze);
  EXPECT_EQ(code(ops.list()), errc::unavailable);
  const auto plan = replace_fenced(url_for(ttl), s.id(), fence, {.by = "a test", .dry_run = true});
  const errc no_answer = kind().breaks ? errc::unavailable : errc::unsupported;
  EXPECT_EQ(code(plan), no_answer) << "a dry run changes nothing";
}

}  // namespace
}  // namespace holdfast::promises
