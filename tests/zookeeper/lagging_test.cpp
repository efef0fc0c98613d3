#include "engines/zookeeper/queue_look.hpp"
#include "engines/zookeeper/store.hpp"
#include "tests/zookeeper/engine_fixture.hpp"

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// A server that has not seen the newest changes yet is asked: it has to catch up before it
/// answers, for by itself it says what was true once.

namespace holdfast::zookeeper_tests {
namespace {

using engines::zookeeper::children_of;
using engines::zookeeper::look_at;
using engines::zookeeper::queue_names;
using engines::zookeeper::queue_picture;
using engines::zookeeper::store;

constexpr std::size_t last = 2;

class zookeeper_lagging_server : public testing::Test {
 protected:
  /// Started by the first test, ended behind the last one.
  static std::unique_ptr<servers>& three() {
    static std::unique_ptr<servers> running;
    if (!running) running = servers::with_follower();
    return running;
  }
  static void TearDownTestSuite() { three().reset(); }
  static std::string root() {
    static int roots = 0;
    return "/t" + std::to_string(++roots) + "?node_timeout=20s";
  }

  /// The number of the newest transaction that a server has.
  static std::string newest_at(std::size_t i) {
    const auto text = three()->at(i).ask("srvr");
    const auto from = text.find("Zxid: ");
    return from == std::string::npos ? "" : text.substr(from, text.find('\n', from) - from);
  }

  /// What the last server is answered to, asked when it has not seen `change` yet.
  template <class Reply>
  static Reply asked_behind(const std::function<void()>& change,
                            const std::function<void(core::on<Reply>)>& ask) {
    three()->cut_off_last(true);
    change();
    EXPECT_NE(newest_at(last), newest_at(three()->leader())) << "it does not lag";
    const auto promised = std::make_shared<std::promise<Reply>>();
    auto answer = promised->get_future();
    ask([promised](Reply r) { promised->set_value(std::move(r)); });
    // What it says by itself, it says within milliseconds.
    answer.wait_for(300ms);
    three()->cut_off_last(false);
    return answer.get();
  }

  /// The same for what is asked of a session that was opened elsewhere.
  template <class Reply>
  Reply asked_of_new(const std::function<void(core::on<Reply>)>& ask) {
    return asked_behind<Reply>(
        [&] {
          opened_ = there_.ask().open(conformance::draft_of(id_));
          EXPECT_EQ(opened_.what, status::ok) << opened_.text;
        },
        ask);
  }

  const session_id id_{conformance::fresh_id()};
  core::open_reply opened_;
  const std::string root_{root()};
  const client there_{"zookeeper://" + three()->at(0).address() + "," + three()->at(1).address() +
                      root_};
  const client here_{"zookeeper://" + three()->at(last).address() + root_};
  member other_{there_.join()};
  member mine_{here_.join()};
};

TEST_F(zookeeper_lagging_server, a_try_finds_a_lock_free_that_was_released_before) {
  const auto held = other_.enqueue("a");
  ASSERT_EQ(held.what, status::ok) << held.text;
  ASSERT_EQ(mine_.attempt("a").what, status::busy);
  auto tries = mine_.next_request("a");
  tries.leave_if_busy = true;
  const auto v = asked_behind<core::queue_view>(
      [&] { EXPECT_EQ(other_.leave("a", held.mine).what, status::ok); },
      [&](auto done) { here_.engine->enqueue(tries, std::move(done)); });
  EXPECT_EQ(v.what, status::ok) << v.text;
}

TEST_F(zookeeper_lagging_server, a_waiter_confirms_what_was_released_before) {
  const auto held = other_.enqueue("a");
  ASSERT_EQ(held.what, status::ok) << held.text;
  const auto waits = mine_.enqueue("a");
  ASSERT_EQ(waits.what, status::queued) << waits.text;
  const auto v = asked_behind<core::queue_view>(
      [&] { EXPECT_EQ(other_.leave("a", held.mine).what, status::ok); },
      [&](auto done) {
        here_.engine->confirm({lock_name("a"), mine_.id(), mine_.inc(), waits.mine, {}},
                              std::move(done));
      });
  EXPECT_EQ(v.what, status::ok) << v.text;
}

TEST_F(zookeeper_lagging_server, who_was_taken_over_before_confirms_nothing) {
  const auto held = mine_.enqueue("a");
  ASSERT_EQ(held.what, status::ok) << held.text;
  const auto v = asked_behind<core::queue_view>(
      [&] {
        EXPECT_EQ(there_.ask().take({mine_.id(), mine_.opened_at()}).what, status::ok);
      },
      [&](auto done) {
        here_.engine->confirm({lock_name("a"), mine_.id(), mine_.inc(), held.mine, {}},
                              std::move(done));
      });
  EXPECT_EQ(v.what, status::gone) << v.text;
}

// The same session, whose entry another client made: here it is not known where it is.
TEST_F(zookeeper_lagging_server, an_entry_that_was_made_before_is_left) {
  ASSERT_EQ(here_.ask().list().what, status::ok);
  core::queue_view made;
  const auto request = mine_.next_request("a");
  const auto left = asked_behind<core::leave_reply>(
      [&] {
        made = there_.ask().enqueue(request);
        EXPECT_EQ(made.what, status::ok) << made.text;
      },
      [&](auto done) {
        here_.engine->leave({.name = lock_name("a"),
                             .id = mine_.id(),
                             .inc = mine_.inc(),
                             .request = request.request,
                             .order = made.mine},
                            std::move(done));
      });
  EXPECT_EQ(left.what, status::ok) << left.text;
  const auto all = there_.ask().list();
  ASSERT_EQ(all.what, status::ok) << all.text;
  EXPECT_TRUE(all.locks.empty()) << "it said that it was left";
}

TEST_F(zookeeper_lagging_server, a_listing_shows_what_was_there_before) {
  const auto all =
      asked_behind<core::listing>([&] { EXPECT_EQ(other_.enqueue("a").what, status::ok); },
                                  [&](auto done) { here_.engine->list(std::move(done)); });
  ASSERT_EQ(all.what, status::ok) << all.text;
  EXPECT_NE(conformance::find_lock(all, "a"), nullptr);
}

TEST_F(zookeeper_lagging_server, a_new_session_beats_at_a_server_that_does_not_know_it_yet) {
  const auto r = asked_of_new<core::beat_reply>([&](auto done) {
    here_.engine->beat({id_, opened_.at.inc, 1}, std::move(done));
  });
  EXPECT_EQ(r.what, status::ok) << r.text;
}

TEST_F(zookeeper_lagging_server, a_new_session_is_taken_at_a_server_that_does_not_know_it_yet) {
  const auto r = asked_of_new<core::take_reply>([&](auto done) {
    here_.engine->take({id_, opened_.at}, std::move(done));
  });
  EXPECT_EQ(r.what, status::ok) << r.text;
}

TEST_F(zookeeper_lagging_server, a_new_session_is_denied_at_a_server_that_does_not_know_it_yet) {
  const auto r = asked_of_new<core::deny_reply>([&](auto done) {
    here_.engine->deny({id_, "test", "test"}, std::move(done));
  });
  EXPECT_EQ(r.what, status::ok) << r.text;
}

TEST_F(zookeeper_lagging_server,
       a_new_session_is_seen_by_a_glance_at_a_server_that_does_not_know_it_yet) {
  const auto r = asked_of_new<core::glance_reply>(
      [&](auto done) { here_.engine->glance({.whom = {id_}}, std::move(done)); });
  ASSERT_EQ(r.what, status::ok) << r.text;
  EXPECT_EQ(r.there.size(), 1U);
}

// As behind a write that one server refused, when another one is asked for the reason.
TEST_F(zookeeper_lagging_server,
       a_new_session_is_not_told_that_it_ended_by_a_server_that_does_not_know_it_yet) {
  const auto s = std::make_shared<store>(here_.servers);
  const auto r = asked_of_new<core::reply>([&](auto done) {
    here_.loop->post([this, s, done] { s->refusal(id_, opened_.at.inc, done); });
  });
  EXPECT_EQ(r.what, status::ok) << r.text;
}

// One server showed the entries, and another one is asked for their sessions.
TEST_F(zookeeper_lagging_server, nobody_is_swept_whose_session_is_not_known_yet) {
  const auto s = std::make_shared<store>(here_.servers);
  const auto queue = s->where().queue(lock_name("a"));
  core::queue_view held;
  const auto p = asked_behind<queue_picture>(
      [&] {
        auto late = there_.join();
        held = late.enqueue("a");
        EXPECT_EQ(held.what, status::ok) << held.text;
      },
      [&](auto done) {
        const auto names = there_.send({children_of(queue)}).replies.at(0).names;
        here_.loop->post(
            [s, names, done] { look_at(s, lock_name("a"), queue_names(names).all(), done); });
      });
  ASSERT_EQ(p.what, status::ok) << p.text;
  EXPECT_EQ(p.live.size(), 1U);
  // Behind what it may have swept.
  const auto all = here_.ask().list();
  ASSERT_EQ(all.what, status::ok) << all.text;
  EXPECT_NE(conformance::find_lock(all, "a"), nullptr) << "a holder's entry was swept";
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
