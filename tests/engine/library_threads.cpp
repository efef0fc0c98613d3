#include "tests/engine/library_threads.hpp"

#include "tests/process/child.hpp"

#include <holdfast/election.hpp>
#include <holdfast/store.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace holdfast::conformance {

using namespace std::chrono_literals;
using process::eventually;

namespace {

/// Longer than anything here takes; what hangs is known by it.
constexpr auto long_enough = 20s;

bool comes(std::future<void>& f) { return f.wait_for(long_enough) == std::future_status::ready; }

/// Tells when the last who knows it is gone.
struct farewell {
  std::promise<void> said;
  ~farewell() { said.set_value(); }
};

bool was_refused(const error& e) {
  return e == errc::would_block && e.message().find("thread of the library") != std::string::npos;
}

bool is_listed(store& in, const session_id& id) {
  const auto all = in.list();
  if (!all) return true;
  return std::ranges::any_of(all->sessions, [&](const session_info& s) { return s.id == id; });
}

}  // namespace

session library_threads::open(session_options options) const {
  auto opened = holdfast::open(url_, std::move(options));
  if (!opened) throw std::runtime_error(opened.error().message());
  return std::move(*opened);
}

lock library_threads::held_by(session& other, const std::string& name) {
  auto l = other.acquire(lock_name(name));
  if (!l) throw std::runtime_error(l.error().message());
  return std::move(*l);
}

std::future<void> library_threads::grant_late(session& s) const {
  auto other = open();
  auto held = held_by(other, "a");
  const auto ran = std::make_shared<std::promise<void>>();
  s.acquire(lock_name("a"), {.wait = long_enough},
            [ran](const result<lock>&) { ran->set_value(); });
  EXPECT_TRUE(std::move(held).release());
  return ran->get_future();
}

void library_threads::expect_it_goes_on(const std::string& name) const {
  auto fresh = open();
  const auto l = fresh.acquire(lock_name(name), {.wait = long_enough});
  EXPECT_TRUE(l) << l.error().message();
}

TEST_P(library_threads, a_completion_may_be_the_last_owner_of_its_session) {
  auto other = open();
  auto held = held_by(other, "a");
  auto last = std::make_shared<farewell>();
  auto gone = last->said.get_future();
  {
    const auto s = std::make_shared<session>(open());
    s->acquire(lock_name("a"), {.wait = long_enough},
               [s, last](result<lock> l) { EXPECT_TRUE(l) << l.error().message(); });
  }
  last.reset();
  EXPECT_TRUE(std::move(held).release());
  ASSERT_TRUE(comes(gone)) << "the end of the session hangs";
  EXPECT_EQ(other.status().state, session_state::attached);
  expect_it_goes_on("a");
}

TEST_P(library_threads, a_completion_may_be_the_last_owner_of_its_store) {
  struct all {
    store of;
    session first;
    session second;
  };
  auto last = std::make_shared<farewell>();
  auto gone = last->said.get_future();
  auto of = store::open(url()).value();
  auto first = of.open_session().value();
  auto second = of.open_session().value();
  auto s = std::make_shared<all>(all{std::move(of), std::move(first), std::move(second)});
  auto held = held_by(s->first, "a");
  s->second.acquire(lock_name("a"), {.wait = long_enough},
                    [s, last](result<lock> l) { EXPECT_TRUE(l) << l.error().message(); });
  s.reset();
  last.reset();
  EXPECT_TRUE(std::move(held).release());
  ASSERT_TRUE(comes(gone)) << "the end of the store hangs";
  expect_it_goes_on("a");
}

TEST_P(library_threads, closing_in_a_completion_lets_every_other_one_run_once) {
  constexpr int count = 30;
  auto other = open();
  auto view = store::open(url()).value();
  std::vector<lock> held;
  for (int i = 0; i < 3; ++i) held.push_back(held_by(other, "n" + std::to_string(i)));
  auto s = open();
  const auto id = s.id();
  std::vector<std::atomic<int>> runs(count);
  std::promise<result<void>> told;
  auto closed = told.get_future();
  for (int i = 0; i < count; ++i) {
    // The first three wait until the others release, or until the session is over.
    s.acquire(lock_name("n" + std::to_string(i)), {.wait = long_enough}, [&, i](result<lock>) {
      ++runs.at(static_cast<std::size_t>(i));
      if (i == 0) told.set_value(s.close());
    });
  }
  EXPECT_TRUE(std::move(held[0]).release());
  ASSERT_EQ(closed.wait_for(long_enough), std::future_status::ready) << "close() hangs";
  const auto said = closed.get();
  if (!said) {
    EXPECT_EQ(said.error(), errc::outcome_unknown);
    EXPECT_NE(said.error().message().find("thread of the library"), std::string::npos);
  }
  EXPECT_EQ(s.status().state, session_state::closed);
  EXPECT_TRUE(s.close()) << "a second time is a success";
  EXPECT_TRUE(eventually(
      [&] { return std::ranges::all_of(runs, [](const auto& n) { return n.load() > 0; }); }));
  for (const auto& n : runs) EXPECT_EQ(n, 1);
  EXPECT_TRUE(eventually([&] { return !is_listed(view, id); })) << "the session was not closed";
  expect_it_goes_on("n0");
}

TEST_P(library_threads, an_observer_may_close_its_session) {
  struct closing final : observer {
    void on(const event::granted& e) noexcept override {
      if (e.name != lock_name("a")) return;
      closed.set_value(of->close());
    }
    void on(const event::session_changed& e) noexcept override {
      if (e.state == session_state::closed) over.set_value();
    }
    session* of{};
    std::promise<result<void>> closed;
    std::promise<void> over;
  };
  const auto watcher = std::make_shared<closing>();
  auto closed = watcher->closed.get_future();
  auto over = watcher->over.get_future();
  auto s = open({.observer = watcher});
  watcher->of = &s;
  auto answered = grant_late(s);
  ASSERT_EQ(closed.wait_for(long_enough), std::future_status::ready) << "close() hangs";
  const auto said = closed.get();
  EXPECT_TRUE(said || said.error() == errc::outcome_unknown) << said.error().message();
  EXPECT_TRUE(comes(over));
  EXPECT_TRUE(comes(answered));
  EXPECT_TRUE(s.close());
  expect_it_goes_on("a");
}

TEST_P(library_threads, an_observer_that_would_wait_for_another_lock_is_refused) {
  struct greedy final : observer {
    void on(const event::granted& e) noexcept override {
      if (e.name != lock_name("a")) return;
      // A thread of the program's may wait, though it should not.
      const bool is_ours = std::this_thread::get_id() == ours;
      said.set_value(of->acquire(lock_name(is_ours ? "free" : "kept"), {.wait = 1h}));
    }
    session* of{};
    const std::thread::id ours{std::this_thread::get_id()};
    std::promise<result<lock>> said;
  };
  auto other = open();
  const auto kept = held_by(other, "kept");
  const auto watcher = std::make_shared<greedy>();
  auto said = watcher->said.get_future();
  auto s = open({.observer = watcher});
  watcher->of = &s;
  auto answered = grant_late(s);
  ASSERT_EQ(said.wait_for(long_enough), std::future_status::ready) << "acquire() hangs";
  const auto got = said.get();
  EXPECT_TRUE(got ? got->name() == lock_name("free") : was_refused(got.error()));
  EXPECT_TRUE(comes(answered));
}

TEST_P(library_threads, who_hears_of_a_loss_may_end_another_session) {
  auto last = std::make_shared<farewell>();
  auto gone = last->said.get_future();
  auto s = open();
  auto l = held_by(s, "a");
  auto other = std::make_shared<session>(open());
  auto others = held_by(*other, "b");
  l.on_lost([other, last](const error&) mutable {
    const auto closed = other->close();
    EXPECT_TRUE(closed || closed.error() == errc::outcome_unknown) << closed.error().message();
    other.reset();
    last.reset();
  });
  last.reset();
  other.reset();
  EXPECT_TRUE(s.close());
  ASSERT_TRUE(comes(gone)) << "the end of the session hangs";
  EXPECT_EQ(others.check().error(), errc::lost);
  expect_it_goes_on("b");
}

TEST_P(library_threads, no_call_on_them_hangs) {
  auto other = open();
  auto held = held_by(other, "a");
  auto kept = held_by(other, "kept");
  auto view = store::open(url()).value();
  auto s = open();
  std::map<std::string, std::optional<error>> said;
  const auto note = [&said](const std::string& call, const auto& r) {
    said[call] = r ? std::optional<error>() : std::optional(r.error());
  };
  std::promise<void> ended;
  auto end = ended.get_future();
  s.acquire(lock_name("a"), {.wait = long_enough}, [&](result<lock> l) {
    note("acquire", s.acquire(lock_name("b"), {.wait = 1h}));
    note("acquire a held one", s.acquire(lock_name("kept"), {.wait = 1h}));
    note("try_acquire", s.try_acquire(lock_name("c")));
    note("acquire_all", s.acquire_all({lock_name("d"), lock_name("e")}, {.wait = 1h}));
    note("open", holdfast::open(url()));
    note("open_session", view.open_session());
    note("list", view.list());
    note("wait_for_change", view.wait_for_change(1h));
    note("deny", view.deny(session_id{}, "a test", "nobody"));
    note("break_session", view.break_session(session_id{}));
    note("diagnose", view.diagnose());
    note("advise_ttl", view.advise_ttl());
    note("identity", view.identity());
    auto e = election(store::open(url()).value(), lock_name("head"));
    note("campaign", e.campaign("me"));
    note("current", e.current());
    note("wait_for_other", e.wait_for_other({}, 1h));
    note("fencing_token", l ? l->fencing_token() : l.error());
    note("release", l ? std::move(*l).release() : l.error());
    ended.set_value();
  });
  EXPECT_TRUE(std::move(held).release());
  ASSERT_TRUE(comes(end)) << "a call hangs";
  EXPECT_EQ(said.at("fencing_token"), std::nullopt);
  for (const auto& [call, why] : said) {
    if (!why || call == "identity") continue;
    const bool unknown = call == "release" && *why == errc::outcome_unknown;
    const bool nobody = why->message().find("no session") != std::string::npos;
    const bool never = call == "break_session" && *why == errc::unsupported;
    EXPECT_TRUE(was_refused(*why) || unknown || nobody || never) << call << ": " << why->message();
  }
  EXPECT_TRUE(said.at("acquire a held one") && was_refused(*said.at("acquire a held one")));
  EXPECT_TRUE(said.at("wait_for_change") && was_refused(*said.at("wait_for_change")));
  // What was given up left nothing behind.
  EXPECT_TRUE(std::move(kept).release());
  EXPECT_TRUE(s.acquire(lock_name("kept"), {.wait = long_enough}));
  expect_it_goes_on("a");
}

}  // namespace holdfast::conformance
