#include "engines/etcd/scripted_server_fixture.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>

/// Servers that are asked whose they are before they are used, beside another one or in its place.
/// With real ones: tests/etcd.

namespace holdfast::engines::etcd {
namespace {

using core::status;

const cluster_epoch of_another_store{.number = 9, .cluster = ours, .store = {session_id{{2}}}};

/// Logs in as before, and is asked whose it is: the question.
char asked_whose(line& l, std::string& login, std::uint64_t cluster = ours) {
  const auto first = l.request();
  if (login.empty()) login = l.asked();
  EXPECT_EQ(l.asked(), login) << "what is asked is no login";
  l.answer(first, token_reply());
  l.answer_next(status_reply(cluster));
  const auto stream = l.request();
  EXPECT_EQ(l.asked(), question()) << "it is asked for more than whose it is";
  return stream;
}

/// Whether the client knows within 10 s that this one of its servers is gone.
bool eventually_lost(const client& c, std::size_t index) {
  for (int n = 0; n < 1'000; ++n) {
    std::promise<bool> ready;
    c.loop->post([&] { ready.set_value(c.servers->members()[index]->ready()); });
    if (!ready.get_future().get()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

/// A server of the store that has told the epoch, at revision 50, and then goes on like this; what
/// connects again is not answered.
std::function<void(const io::peer::client&, int)> known_then(gate& known,
                                                             std::function<void(line&)> take) {
  return [&known, then = std::move(take)](const io::peer::client& c, int connection) {
    line l(c);
    if (connection > 0) return l.wait_for_the_end();
    l.log_in();
    l.answer_next(epoch_reply(first_epoch, ours, 50));
    l.has_taken_all();
    known.open();
    then(l);
  };
}

// ---- beside one that is in use ----

/// The second server of a URL, whose first one is in use, takes the question whose it is like this.
void expect_beside_one_in_use(const std::function<void(line&, char, std::string&)>& take) {
  gate known;
  gate done;
  gate left;
  io::peer first(known_then(known, [](line& l) { l.wait_for_the_end(); }));
  io::peer other([&](const io::peer::client& c, int) {
    EXPECT_TRUE(known.wait());
    line l(c);
    std::string login;
    const auto question = asked_whose(l, login);
    take(l, question, login);
    done.open();
    l.wait_for_the_end();
    left.open();
  });
  const client c({first.address(), other.address()});
  EXPECT_TRUE(done.wait());
  c.servers->close();
  EXPECT_TRUE(left.wait());
}

TEST(etcd_cluster_proof, who_does_not_show_that_it_is_of_the_store_is_refused_until_it_does) {
  const std::string answers[]{
      "no message at all", txn_reply(ours, 50), epoch_reply_of("somebody else's", ours, 50),
      epoch_reply(of_another_store, ours, 50), epoch_reply(first_epoch, ours, 49)};
  for (const auto& answer : answers) {
    expect_beside_one_in_use([&](line& l, char stream, std::string& login) {
      l.answer(stream, answer);
      EXPECT_GT(asked_whose(l, login), 0);
    });
  }
  expect_beside_one_in_use([](line& l, char stream, std::string& login) {
    l.fail(stream, "7", "etcdserver: permission denied");
    EXPECT_GT(asked_whose(l, login), 0);
  });
}

// As where its cluster has no leader for a while.
TEST(etcd_cluster_proof, who_cannot_tell_whose_it_is_is_asked_again_without_another_login) {
  expect_beside_one_in_use([](line& l, char stream, std::string&) {
    for (int n = 0; n < 3; ++n) {
      l.fail(stream, "14", "etcdserver: request timed out");
      stream = l.request();
      EXPECT_EQ(l.asked(), question());
    }
    l.answer(stream, epoch_reply(first_epoch, ours, 50));
    l.has_taken_all();
    EXPECT_EQ(l.count_requests(), 0) << "nothing is left to be asked";
  });
}

// Without a token it would be refused, and its login with it.
TEST(etcd_cluster_proof, who_is_back_is_asked_whose_it_is_behind_its_login) {
  gate known;
  gate asked;
  gate left;
  io::peer first(known_then(known, [](line& l) { l.wait_for_the_end(); }));
  io::peer other([&](const io::peer::client& c, int connection) {
    EXPECT_TRUE(connection > 0 || known.wait());
    line l(c);
    std::string login;
    if (connection == 0) {
      EXPECT_GT(asked_whose(l, login), 0);
      return;
    }
    const auto again = l.request();
    // It would be asked after 100 ms.
    std::this_thread::sleep_for(500ms);
    EXPECT_EQ(l.count_requests(), 0);
    l.answer(again, token_reply());
    l.answer_next(status_reply(ours));
    EXPECT_GT(l.request(), 0);
    EXPECT_EQ(l.asked(), question());
    asked.open();
    l.wait_for_the_end();
    left.open();
  });
  const client c({first.address(), other.address()});
  EXPECT_TRUE(asked.wait());
  c.servers->close();
  EXPECT_TRUE(left.wait());
}

// ---- in the place of one that is gone ----

/// The first server leaves while it is asked for the epoch, which is in doubt: only the other one
/// is left, and was refused as of another store. It shows `then` and goes on with `take`.
void expect_of_the_only_one_left(const std::string& then,
                                 const std::function<void(line&, std::string&)>& take) {
  gate known;
  gate refused;
  gate doubted;
  gate asked_again;
  gate lost;
  gate done;
  gate left;
  io::peer first(known_then(known, [&](line& l) {
    l.answer_next(txn_reply(another));
    EXPECT_GT(l.request(), 0);
    doubted.open();
    EXPECT_TRUE(asked_again.wait());
  }));
  io::peer other([&](const io::peer::client& c, int) {
    EXPECT_TRUE(known.wait());
    line l(c);
    std::string login;
    l.answer(asked_whose(l, login), epoch_reply(of_another_store, ours, 50));
    l.has_taken_all();
    refused.open();
    EXPECT_TRUE(doubted.wait());
    const auto question = asked_whose(l, login);
    asked_again.open();
    EXPECT_TRUE(lost.wait());
    l.answer(question, then);
    take(l, login);
    done.open();
    l.wait_for_the_end();
    left.open();
  });
  const client c({first.address(), other.address()});
  EXPECT_TRUE(refused.wait());
  EXPECT_EQ(outcome_of_one(*c.loop, c.servers), status::unknown);
  EXPECT_TRUE(eventually_lost(c, 0));
  lost.open();
  EXPECT_TRUE(done.wait());
  EXPECT_EQ(c.servers->identity(), first_epoch.store);
  c.servers->close();
  EXPECT_TRUE(left.wait());
}

// The store's own server may come back, and until then tokens of another store are no tokens.
TEST(etcd_cluster_proof, who_was_of_another_store_is_not_taken_for_this_one_when_it_is_alone) {
  expect_of_the_only_one_left(
      epoch_reply(of_another_store, ours, 51),
      [](line& l, std::string& login) { EXPECT_GT(asked_whose(l, login), 0); });
}

TEST(etcd_cluster_proof, who_was_of_another_store_and_has_joined_this_one_tells_the_epoch) {
  expect_of_the_only_one_left(epoch_reply(first_epoch, ours, 51), [](line& l, std::string&) {
    EXPECT_GT(l.request(), 0);
    EXPECT_NE(l.asked(), question()) << "it is asked for the epoch";
  });
}

// As after a restore from a backup, one server after the other.
TEST(etcd_cluster_proof, another_cluster_of_the_store_is_used_when_none_of_the_first_is_left) {
  gate known;
  gate refused;
  gate lost;
  gate left;
  io::peer first(known_then(known, [&](line&) { EXPECT_TRUE(refused.wait()); }));
  io::peer other([&](const io::peer::client& c, int) {
    EXPECT_TRUE(known.wait());
    line l(c);
    std::string login;
    l.answer(asked_whose(l, login, another), epoch_reply(first_epoch, another, 60));
    l.has_taken_all();
    refused.open();
    EXPECT_TRUE(lost.wait());
    l.answer(asked_whose(l, login, another), epoch_reply(first_epoch, another, 60));
    l.answer_next(epoch_reply(first_epoch, another, 60));
    const auto raise = l.request();
    EXPECT_EQ(l.asked(), raise_to(epoch_of(2, another)));
    l.answer(raise, epoch_reply(epoch_of(2, another), another, 61));
    l.answer_next(txn_reply(another, 62));
    l.wait_for_the_end();
    left.open();
  });
  const client c({first.address(), other.address()});
  EXPECT_TRUE(refused.wait());
  EXPECT_TRUE(eventually_lost(c, 0));
  lost.open();
  EXPECT_EQ(outcome_of_one(*c.loop, c.servers), status::ok);
  c.servers->close();
  EXPECT_TRUE(left.wait());
}

TEST(etcd_cluster_proof, what_waits_is_sent_to_who_has_shown_that_it_is_of_the_store) {
  gate known;
  gate asked;
  gate waits;
  gate left;
  io::peer first(known_then(known, [&](line&) { EXPECT_TRUE(asked.wait()); }));
  io::peer other([&](const io::peer::client& c, int) {
    EXPECT_TRUE(known.wait());
    line l(c);
    std::string login;
    const auto question = asked_whose(l, login);
    asked.open();
    EXPECT_TRUE(waits.wait());
    l.answer(question, epoch_reply(first_epoch, ours, 50));
    l.answer_next(txn_reply(ours, 51));
    l.wait_for_the_end();
    left.open();
  });
  const client c({first.address(), other.address()});
  EXPECT_TRUE(asked.wait());
  EXPECT_TRUE(eventually_lost(c, 0));
  std::promise<status> ended;
  c.loop->post([&] {
    c.servers->txn({}, repeat::never, [&](const txn_result& r) { ended.set_value(r.what); });
    waits.open();
  });
  EXPECT_EQ(ended.get_future().get(), status::ok);
  c.servers->close();
  EXPECT_TRUE(left.wait());
}

}  // namespace
}  // namespace holdfast::engines::etcd
