#include "engines/etcd/scripted_server_fixture.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// Servers whose history is another one than before: what is written into the epoch record, and
/// what is believed. Two clients of one such server are in tests/etcd.

namespace holdfast::engines::etcd {
namespace {

using core::status;

/// One server, and a client that has no other. Each of its lives is one connection.
class etcd_epochs : public testing::Test {
 protected:
  using life = std::function<void(line&)>;

  void live(std::vector<life> lives) {
    lives_ = std::move(lives);
    begun_ = std::vector<gate>(lives_.size());
    server_ = std::make_unique<io::peer>([this](const io::peer::client& c, int number) {
      line l(c);
      const auto n = static_cast<std::size_t>(number);
      if (n >= lives_.size()) return;
      now_ = n;
      lives_[n](l);
      if (n + 1 == lives_.size()) l.wait_for_the_end();
    });
    servers_ = cluster_of({server_->address()}, loop_);
    servers_->start();
  }
  void TearDown() override {
    if (servers_) servers_->close();
    server_.reset();
  }

  /// The first time: nothing is known of the store.
  void tell_first(line& l, const cluster_epoch& e, std::int64_t revision) {
    l.log_in(e.cluster);
    l.answer_next(epoch_reply(e, e.cluster, revision));
    l.has_taken_all();
    begin();
  }
  /// Later: it has to show what it is before anything is asked.
  void show(line& l, const cluster_epoch& e, std::uint64_t cluster, std::int64_t revision) {
    l.log_in(cluster);
    begin();
    const auto stream = l.request();
    EXPECT_EQ(l.asked(), question());
    l.answer(stream, epoch_reply(e, cluster, revision));
  }
  /// It is asked again, as by whoever knows nothing, and then for a higher epoch.
  void tell_and_raise(line& l, const cluster_epoch& e, const cluster_epoch& next,
                      std::int64_t revision) {
    l.answer_next(epoch_reply(e, next.cluster, revision));
    expect_raise(l, next, revision + 1);
  }
  void expect_raise(line& l, const cluster_epoch& next, std::int64_t revision) {
    const auto stream = l.request();
    EXPECT_EQ(l.asked(), raise_to(next));
    l.answer(stream, epoch_reply(next, next.cluster, revision));
  }
  void do_one(line& l, std::uint64_t cluster, std::int64_t revision) {
    const auto stream = l.request();
    EXPECT_EQ(l.asked(), "") << "what is asked is no transaction of the test's";
    l.answer(stream, txn_reply(cluster, revision));
  }

  /// The client is logged in, for this life.
  void begin() { begun_[now_].open(); }
  bool await(std::size_t life) { return begun_[life].wait(); }
  status outcome() { return outcome_of_one(*loop_, servers_); }
  template <class Task>
  auto on_loop(Task task) {
    std::promise<decltype(task())> promised;
    auto got = promised.get_future();
    loop_->post([&] { promised.set_value(task()); });
    return got.get();
  }
  std::uint64_t epoch() {
    return on_loop([this] { return servers_->epoch().value.number; });
  }

  const std::shared_ptr<io::loop> loop_{std::move(io::loop::start().value())};
  std::shared_ptr<cluster> servers_;

 private:
  std::vector<life> lives_;
  std::vector<gate> begun_;
  std::size_t now_{};  ///< Which life.
  std::unique_ptr<io::peer> server_;
};

TEST_F(etcd_epochs, an_answer_older_than_what_was_told_counts_for_nothing_and_ends_the_epoch) {
  live({[&](line& l) {
    tell_first(l, first_epoch, 50);
    do_one(l, ours, 60);
    do_one(l, ours, 55);
    tell_and_raise(l, first_epoch, epoch_of(2, ours), 56);
    do_one(l, ours, 58);
  }});
  ASSERT_TRUE(await(0));
  EXPECT_EQ(outcome(), status::ok);
  EXPECT_EQ(outcome(), status::unknown);
  EXPECT_EQ(outcome(), status::ok) << "the history that goes on is measured from there";
  EXPECT_EQ(epoch(), 2U);
}

TEST_F(etcd_epochs, an_answer_about_the_epoch_is_a_measure_too) {
  live({[&](line& l) {
    tell_first(l, first_epoch, 50);
    do_one(l, another, 51);
    l.answer_next(epoch_reply(first_epoch, ours, 60));
    do_one(l, ours, 55);
    tell_and_raise(l, first_epoch, epoch_of(2, ours), 56);
    do_one(l, ours, 58);
  }});
  ASSERT_TRUE(await(0));
  EXPECT_EQ(outcome(), status::unknown) << "another cluster answers";
  EXPECT_EQ(outcome(), status::unknown) << "older than what was told";
  EXPECT_EQ(outcome(), status::ok);
}

// Two calls that are under way at once may be answered in any order.
TEST_F(etcd_epochs, of_answers_in_any_order_the_newest_is_the_measure) {
  live({[&](line& l) {
    tell_first(l, first_epoch, 50);
    const auto one = l.request();
    const auto two = l.request();
    l.answer(one, txn_reply(ours, 60));
    l.answer(two, txn_reply(ours, 55));
    do_one(l, ours, 57);
  }});
  ASSERT_TRUE(await(0));
  std::promise<status> first;
  std::promise<status> second;
  loop_->post([&] {
    servers_->txn({}, repeat::never, [&](const txn_result& r) { first.set_value(r.what); });
    servers_->txn({}, repeat::never, [&](const txn_result& r) { second.set_value(r.what); });
  });
  EXPECT_EQ(first.get_future().get(), status::ok);
  EXPECT_EQ(second.get_future().get(), status::ok);
  EXPECT_EQ(outcome(), status::unknown);
}

// A backup that is restored again begins with an epoch whose tokens were given, at a revision that
// may be lower or higher than any that is known.
TEST_F(etcd_epochs, each_restored_cluster_gets_an_epoch_above_all_that_this_client_used) {
  live({[&](line& l) {
          tell_first(l, epoch_of(1, 7), 50);
          do_one(l, 7, 51);
        },
        [&](line& l) {
          show(l, epoch_of(1, 7), 8, 200);
          tell_and_raise(l, epoch_of(1, 7), epoch_of(2, 8), 200);
          do_one(l, 8, 202);
        },
        [&](line& l) {
          show(l, epoch_of(1, 7), 9, 20);
          tell_and_raise(l, epoch_of(1, 7), epoch_of(3, 9), 20);
          do_one(l, 9, 22);
        },
        [&](line& l) {
          show(l, epoch_of(3, 10), 10, 300);
          tell_and_raise(l, epoch_of(3, 10), epoch_of(4, 10), 300);
          do_one(l, 10, 302);
        }});
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(await(i));
    EXPECT_EQ(outcome(), status::ok);
  }
  EXPECT_EQ(epoch(), 4U);
}

TEST_F(etcd_epochs, a_higher_epoch_and_another_store_are_taken_as_they_are) {
  const cluster_epoch other{.number = 1, .cluster = 9, .store = {session_id{{2}}}};
  live({[&](line& l) {
          tell_first(l, epoch_of(1, 7), 50);
          do_one(l, 7, 51);
        },
        [&](line& l) {
          show(l, epoch_of(5, 8), 8, 20);
          l.answer_next(epoch_reply(epoch_of(5, 8), 8, 20));
          do_one(l, 8, 22);
        },
        [&](line& l) {
          show(l, other, 9, 20);
          l.answer_next(epoch_reply(other, 9, 20));
          do_one(l, 9, 22);
        }});
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(await(i));
    EXPECT_EQ(outcome(), status::ok);
  }
  EXPECT_EQ(epoch(), 1U);
  EXPECT_EQ(servers_->identity(), other.store);
}

// The second time it has grown beyond what was known before this client came back: only the epoch
// that it has lost tells.
TEST_F(etcd_epochs, a_history_that_was_set_back_under_one_id_gets_an_epoch_above_the_last) {
  live({[&](line& l) {
          tell_first(l, first_epoch, 50);
          do_one(l, ours, 51);
        },
        [&](line& l) {
          show(l, first_epoch, ours, 40);
          tell_and_raise(l, first_epoch, epoch_of(2, ours), 40);
          do_one(l, ours, 42);
        },
        [&](line& l) {
          show(l, first_epoch, ours, 60);
          tell_and_raise(l, first_epoch, epoch_of(3, ours), 60);
          do_one(l, ours, 62);
        }});
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(await(i));
    EXPECT_EQ(outcome(), status::ok);
  }
  EXPECT_EQ(epoch(), 3U);
}

TEST_F(etcd_epochs, a_server_that_is_back_and_has_lost_nothing_is_used_when_it_has_shown_that) {
  live({[&](line& l) {
          tell_first(l, first_epoch, 50);
          do_one(l, ours, 51);
        },
        [&](line& l) {
          show(l, first_epoch, ours, 51);
          do_one(l, ours, 52);
        }});
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(await(i));
    EXPECT_EQ(outcome(), status::ok);
  }
}

// One may have the history that was used until then, and another the one that counts from here on.
TEST(etcd_cluster_epoch, where_the_epoch_is_another_every_server_shows_what_it_is) {
  gate known;
  gate both_in_use;
  gate shown;
  gate first_left;
  gate other_left;
  io::peer first([&](const io::peer::client& c, int) {
    line l(c);
    l.log_in();
    l.answer_next(epoch_reply(first_epoch, ours, 50));
    l.has_taken_all();
    known.open();
    EXPECT_TRUE(both_in_use.wait());
    l.answer_next(txn_reply(ours, 40));
    l.answer_next(epoch_reply(first_epoch, ours, 41));
    l.answer_next(epoch_reply(epoch_of(2, ours), ours, 42));
    l.wait_for_the_end();
    first_left.open();
  });
  io::peer other([&](const io::peer::client& c, int) {
    EXPECT_TRUE(known.wait());
    line l(c);
    l.log_in();
    l.answer_next(epoch_reply(first_epoch, ours, 50));
    l.has_taken_all();
    both_in_use.open();
    EXPECT_GT(l.request(), 0);
    EXPECT_EQ(l.asked(), question());
    shown.open();
    l.wait_for_the_end();
    other_left.open();
  });
  const client c({first.address(), other.address()});
  EXPECT_TRUE(both_in_use.wait());
  EXPECT_EQ(outcome_of_one(*c.loop, c.servers), status::unknown) << "older than what was told";
  EXPECT_TRUE(shown.wait());
  c.servers->close();
  EXPECT_TRUE(first_left.wait() && other_left.wait());
}

TEST_F(etcd_epochs, an_answer_that_tells_none_is_refused_and_it_is_asked_for_again) {
  live({[&](line& l) {
    for (const auto& answer : {std::string("no message at all"), txn_reply(ours, 50)}) {
      l.log_in();
      l.answer_next(answer);
    }
    tell_first(l, first_epoch, 50);
    do_one(l, ours, 51);
  }});
  ASSERT_TRUE(await(0));
  EXPECT_EQ(outcome(), status::ok);
}

TEST_F(etcd_epochs, the_last_epoch_is_used) {
  live({[&](line& l) {
    l.log_in(another);
    tell_and_raise(l, epoch_of(epoch_max - 1, ours), epoch_of(epoch_max, another), 50);
    l.has_taken_all();
    begin();
    do_one(l, another, 52);
  }});
  ASSERT_TRUE(await(0));
  EXPECT_EQ(outcome(), status::ok);
}

TEST_F(etcd_epochs, an_epoch_above_which_no_token_fits_is_refused) {
  live({[&](line& l) {
    l.log_in(another);
    l.answer_next(epoch_reply(epoch_of(epoch_max, ours), another, 50));
    l.has_taken_all();
    begin();
  }});
  ASSERT_TRUE(await(0));
  EXPECT_NE(on_loop([this] { return servers_->troubles(); }).find("cannot grow any more"),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::engines::etcd
