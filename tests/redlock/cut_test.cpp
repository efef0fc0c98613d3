#include "engines/redlock/keys.hpp"
#include "tests/process/child.hpp"
#include "tests/redis_server/witness.hpp"
#include "tests/redlock/far_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

/// \file
/// A connection ends in the middle of an answer, at each of its bytes, whatever was asked. Another
/// client contends behind each cut: no two hold, tokens grow, no key stays longer than its ttl, and
/// the lock is granted again.

namespace holdfast::redlock_tests {

using process::eventually;
using testing::IsEmpty;

namespace {

const lock_name known("known");

/// A client with connections of its own, to all nodes.
struct fresh_client {
  explicit fresh_client(store opened) : at(std::move(opened)), by(at.open_session().value()) {}
  store at;
  session by;
};

const auto nothing = [](fresh_client&) {};

class redlock_cut_byte : public testing::Test {
 protected:
  using exchange = std::function<void(fresh_client&)>;

  ~redlock_cut_byte() override {
    EXPECT_THAT(seen.violations(), IsEmpty());
    EXPECT_TRUE(far.nodes.comes_to(wanted.str(), 0, 10s));
    for (std::size_t i = 0; i < far.nodes.size(); ++i) expect_ends(far.nodes[i]);
  }

  /// Does it with a client of its own each time, and cuts the answers of the first `nodes` after
  /// each byte that it takes, or after so many of them in a quick run. Then nobody else gets what
  /// is held, and it can be given back.
  void cut_at_every_byte(std::size_t nodes, int quick, const exchange& ready, const exchange& act,
                         const exchange& afterwards = nothing) {
    const int bytes = bytes_of(ready, act);
    ASSERT_GT(bytes, 3);
    RecordProperty("bytes", bytes);
    const int tries = process::rounds(std::min(bytes, quick), bytes);
    int cut = 0;
    for (int k = 0; k < tries && !HasFailure(); ++k) {
      SCOPED_TRACE("cut after " + std::to_string(k * bytes / tries) + " of " +
                   std::to_string(bytes));
      const auto began = clock::now();
      std::optional<fresh_client> one = joined();
      ready(*one);
      for (std::size_t i = 0; i < nodes; ++i) far.links[i]->cut_after(k * bytes / tries);
      act(*one);
      afterwards(*one);
      if (held) expect_alone(*held);
      if (held) give_back(*std::exchange(held, std::nullopt));
      EXPECT_TRUE(far.nodes.comes_to(wanted.str(), 0)) << "who lives releases";
      one.reset();
      contend();
      for (std::size_t i = 0; i < nodes; ++i) {
        cut += far.links[i]->will_cut() ? 0 : 1;
        far.links[i]->cut_after(-1);
      }
      EXPECT_LT(clock::now() - began, 60s);
    }
    EXPECT_GE(2 * cut, tries * static_cast<int>(nodes)) << "else nothing was tried";
  }
  /// The lock is free: who wants it gets it.
  void contend() {
    auto next = rival().acquire(wanted, {.wait = 20s});
    ASSERT_TRUE(next) << next.error().message();
    EXPECT_NE(seen.begins(*next), 0U);
    give_back(std::move(*next));
  }
  /// While `l` is held nobody else gets the lock.
  void expect_alone(const lock& l) {
    const auto me = seen.begins(l);
    EXPECT_LE(far.nodes.longest(wanted.str()), ttl);
    const auto other = rival().try_acquire(wanted);
    if (other) seen.begins(*other);
    if (me != 0) seen.still(me, l);
  }
  static void give_back(lock l) {
    const auto r = std::move(l).release();
    EXPECT_TRUE(r || r.error() == errc::outcome_unknown || r.error() == errc::lost)
        << r.error().message();
  }
  /// Waits if it has to: who is granted a lock though a node is gone is told so.
  lock taken(session& by) {
    auto l = by.acquire(wanted, {.wait = 20s});
    if (!l) throw std::runtime_error(l.error().message());
    return std::move(*l);
  }
  session& rival() {
    if (!rival_ || rival_->remaining() == duration::zero()) rival_ = far.nodes.open(query, 1);
    return *rival_;
  }
  /// All nodes vote for it.
  fresh_client joined() {
    fresh_client one(store::open(far.nodes.url(query)).value());
    EXPECT_TRUE(eventually([&] {
      auto l = one.by.try_acquire(known);
      if (!l) return false;
      const bool all = eventually([&] { return far.nodes.count(known.str()) == 3; }, 200ms);
      return std::move(*l).release() && all;
    }));
    EXPECT_TRUE(far.nodes.comes_to(known.str(), 0));
    return one;
  }

  /// Sessions that are opened from now on.
  void live_for(const std::string& text, duration t) {
    query = "ttl=" + text;
    ttl = t;
  }
  bool listens(const std::string& name) {
    const auto all =
        far.nodes[0].command({"PUBSUB", "NUMSUB", engines::redlock::free_channel(name)});
    return all.elements.size() == 2 && all.elements[1].integer > 0;
  }
  /// A name whose releases are heard at the first node.
  std::string heard_at_the_first() {
    for (int i = 0; i < 100; ++i) {
      const std::string name = "wanted-" + std::to_string(i);
      lock held = rival().try_acquire(lock_name(name)).value();
      fresh_client one = joined();
      auto waits = std::async(std::launch::async, [&] {
        return one.by.acquire(lock_name(name), {.wait = 100ms}).has_value();
      });
      const bool heard = eventually([&] { return listens(name); }, 100ms);
      waits.get();
      give_back(std::move(held));
      if (heard) return name;
    }
    ADD_FAILURE() << "none of a hundred";
    return "wanted";
  }

  lock_name wanted{"wanted"};
  /// Long: what is free before that was released.
  duration ttl = 60s;
  std::string query = "ttl=60s";
  far_nodes far{3, {}, 60s};
  redis_tests::witness seen;
  std::optional<lock> held;

 private:
  /// What the first node answers to it: the median, for it may be looked at in passing, which takes
  /// thousands, and may answer late.
  int bytes_of(const exchange& ready, const exchange& act) {
    rival();
    std::array<std::uint64_t, 3> told{};
    for (auto& bytes : told) {
      fresh_client one = joined();
      ready(one);
      const auto from = far.links[0]->reply_bytes();
      act(one);
      std::this_thread::sleep_for(20ms);
      bytes = far.links[0]->reply_bytes() - from;
      if (held) give_back(*std::exchange(held, std::nullopt));
    }
    std::ranges::sort(told);
    return static_cast<int>(told[1]);
  }
  /// Only the node record is there for ever.
  static void expect_ends(server& s) {
    for (const answer& key : s.command({"KEYS", "*"}).elements) {
      if (key.text == "holdfast:node") continue;
      const auto left = s.command({"PTTL", key.text}).integer;
      EXPECT_NE(left, -1) << key.text;
      // A counter: twice max_ttl.
      EXPECT_LE(left, 120'000) << key.text;
    }
  }

  std::optional<session> rival_;
};

/// Fault matrix: a connection to one of three nodes cut at each byte of the answers to an acquire,
/// or to two of them (in a quick run at 15 of the bytes) | whoever asks meanwhile is not granted
/// what is held; the next one gets it
TEST_F(redlock_cut_byte, of_an_acquire) {
  for (const std::size_t nodes : {1U, 2U}) {
    const int quick = nodes == 1 ? 100 : 15;
    cut_at_every_byte(nodes, quick, nothing, [&](fresh_client& one) { held = taken(one.by); });
  }
}

/// Fault matrix: the same for the refusal of a lock that another client holds | it is not granted
TEST_F(redlock_cut_byte, of_a_refusal) {
  std::optional<lock> theirs;
  for (const std::size_t nodes : {1U, 2U}) {
    const int quick = nodes == 1 ? 100 : 15;
    cut_at_every_byte(
        nodes, quick,
        [&](fresh_client&) {
          theirs = taken(rival());
          seen.begins(*theirs);
        },
        [&](fresh_client& one) {
          const auto mine = one.by.try_acquire(wanted);
          if (mine) seen.begins(*mine);
          EXPECT_FALSE(mine);
          give_back(*std::exchange(theirs, std::nullopt));
        });
  }
}

/// Fault matrix: the same for an acquire whose token some nodes have to be lifted to | the same,
/// and tokens grow
TEST_F(redlock_cut_byte, of_an_acquire_that_lifts_counters) {
  for (const std::size_t nodes : {1U, 2U}) {
    const auto ahead = [&](fresh_client&) {
      far.nodes[2].command({"HINCRBY", "holdfast:node", "floor", "1000"});
    };
    const int quick = nodes == 1 ? 100 : 15;
    cut_at_every_byte(nodes, quick, ahead, [&](fresh_client& one) { held = taken(one.by); });
  }
}

/// Fault matrix: the same for a release | no node keeps the key, though its ttl is a minute, and
/// the next one gets the lock
TEST_F(redlock_cut_byte, of_a_release) {
  std::optional<lock> mine;
  for (const std::size_t nodes : {1U, 2U}) {
    int told = 0;
    int confirmed = 0;
    cut_at_every_byte(
        nodes, 100,
        [&](fresh_client& one) {
          mine = taken(one.by);
          seen.begins(*mine);
        },
        [&](fresh_client&) {
          const auto r = std::move(*std::exchange(mine, std::nullopt)).release();
          EXPECT_TRUE(r || r.error() == errc::outcome_unknown) << r.error().message();
          ++told;
          confirmed += r ? 1 : 0;
        });
    EXPECT_TRUE(nodes > 1 || 2 * confirmed >= told) << "a busy machine costs some";
  }
}

/// Fault matrix: the same for the record of a session | it is opened, and takes locks
TEST_F(redlock_cut_byte, of_a_session_record) {
  std::optional<session> more;
  for (const std::size_t nodes : {1U, 2U}) {
    cut_at_every_byte(
        nodes, 100, nothing,
        [&](fresh_client& one) {
          EXPECT_TRUE(eventually([&] {
            auto opened = one.at.open_session();
            if (opened) more = std::move(*opened);
            return more.has_value();
          }));
        },
        [&](fresh_client&) {
          lock l = taken(*more);
          expect_alone(l);
          give_back(std::move(l));
          more.reset();
        });
    more.reset();
  }
}

/// Fault matrix: the same for all that a node says from the first connection to a lock, who it is
/// and its record (in a quick run at 60 of the bytes) | the others open the store
TEST_F(redlock_cut_byte, of_an_opening) {
  std::optional<fresh_client> later;
  cut_at_every_byte(
      1, 60, [&](fresh_client&) { later.reset(); },
      [&](fresh_client&) {
        auto opened = store::open(far.nodes.url(query, 2));
        ASSERT_TRUE(opened) << opened.error().message();
        later.emplace(std::move(*opened));
        held = taken(later->by);
      });
}

/// Fault matrix: the same for a list (in a quick run at 40 of the bytes) | it shows the lock
/// that is held
TEST_F(redlock_cut_byte, of_a_list) {
  cut_at_every_byte(
      1, 40, [&](fresh_client& one) { held = taken(one.by); },
      [&](fresh_client& one) {
        const auto all = one.at.list();
        ASSERT_TRUE(all) << all.error().message();
        const auto at = std::ranges::find(all->locks, wanted, &lock_info::name);
        EXPECT_TRUE(at != all->locks.end() || !held->check());
      });
}

/// Fault matrix: the same for a heartbeat, with a ttl of a second (in a quick run at 6 bytes) | the
/// lock is kept
TEST_F(redlock_cut_byte, of_a_renewal) {
  live_for("1s", 1s);
  int kept = 0;
  int tries = 0;
  cut_at_every_byte(
      1, 6, [&](fresh_client& one) { held = taken(one.by); },
      [&](fresh_client&) {
        const auto before = far.nodes[2].calls("mget");
        ASSERT_TRUE(eventually([&] { return far.nodes[2].calls("mget") > before; }));
        ++tries;
        kept += held->check() ? 1 : 0;
      });
  EXPECT_GE(2 * kept, tries) << "a busy machine costs some";
}

/// Fault matrix: the same for a denial, with a ttl of a second (in a quick run at 40 of the bytes),
/// each eighth time of a holder | the session ends, and its lock is free a ttl later
TEST_F(redlock_cut_byte, of_a_denial) {
  live_for("1s", 1s);
  std::optional<session> denied;
  std::optional<lock> lost;
  int times = 0;
  cut_at_every_byte(
      1, 40,
      [&](fresh_client& one) {
        lost.reset();
        denied = one.at.open_session().value();
        if (times++ % 8 != 0) return;
        lost = taken(*denied);
        seen.begins(*lost);
      },
      [&](fresh_client& one) {
        EXPECT_TRUE(eventually([&] {
          return one.at.deny(denied->id(), "me", "test").has_value() ||
                 denied->remaining() == duration::zero();
        }));
      },
      [&](fresh_client&) {
        EXPECT_TRUE(eventually([&] { return !lost || !lost->check(); }));
        lost.reset();
        denied.reset();
      });
}

/// Fault matrix: the same for a wait, its subscription and the call (in a quick run at 20 bytes)
/// | who waits gets the lock
TEST_F(redlock_cut_byte, of_a_wait) {
  const std::string name = heard_at_the_first();
  wanted = lock_name(name);
  cut_at_every_byte(1, 20, nothing, [&](fresh_client& one) {
    lock before = taken(rival());
    seen.begins(before);
    auto next =
        std::async(std::launch::async, [&] { return one.by.acquire(wanted, {.wait = 60s}); });
    EXPECT_TRUE(eventually([&] { return !far.links[0]->will_cut() || listens(name); }));
    give_back(std::move(before));
    auto l = next.get();
    ASSERT_TRUE(l) << l.error().message();
    held = std::move(*l);
  });
}

}  // namespace
}  // namespace holdfast::redlock_tests
