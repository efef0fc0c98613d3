#include "engines/etcd/scripted_server_fixture.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>

/// Servers that answer when the test wants it. With real ones: tests/etcd.

namespace holdfast::engines::etcd {
namespace {

using namespace std::chrono_literals;

/// Of two transactions that are sent at once.
core::status outcome_of_the_second(io::loop& loop, const std::shared_ptr<cluster>& servers) {
  const auto ends = std::make_shared<std::promise<core::status>>();
  auto ended = ends->get_future();
  loop.post([servers, ends] {
    servers->txn({}, repeat::never, [](const txn_result&) {});
    servers->txn({}, repeat::never, [ends](const txn_result& r) { ends->set_value(r.what); });
  });
  return ended.wait_for(20s) == std::future_status::ready ? ended.get() : core::status::unknown;
}

/// A server that has told the epoch, which opens `known`, is asked for it again because of the one
/// transaction, and fails the other one's login. The question, which it has yet to answer.
char doubted_while_it_logs_out(line& l, gate& known) {
  l.become_known();
  known.open();
  const auto one = l.request();
  const auto two = l.request();
  l.answer(one, txn_reply(another));
  const auto question = l.request();
  l.fail(two, "16", "etcdserver: invalid auth token");
  return question;
}

/// The server that is asked for the epoch fails while it is not in use, for it has to log in again
/// and that takes long. `both`: only once the other one has been asked as well.
void expect_that_the_other_one_tells_the_epoch(bool both) {
  gate known;
  gate both_ready;
  gate other_asked;
  gate failed;
  gate first_left;
  gate other_left;
  io::peer first([&](const io::peer::client& c, int) {
    line l(c);
    const auto question = doubted_while_it_logs_out(l, known);
    EXPECT_GT(l.request(), question);
    EXPECT_TRUE(!both || other_asked.wait());
    l.fail(question, "14", "etcdserver: request timed out");
    EXPECT_TRUE(l.has_taken_all());
    failed.open();
    l.wait_for_the_end();
    first_left.open();
  });
  io::peer other([&](const io::peer::client& c, int) {
    EXPECT_TRUE(known.wait());
    line l(c);
    l.become_known();
    both_ready.open();
    const auto question = l.request();
    other_asked.open();
    EXPECT_TRUE(failed.wait());
    // Once is enough: what comes next is the transaction.
    l.answer(question, epoch_reply());
    l.answer_next(txn_reply(ours));
    l.wait_for_the_end();
    other_left.open();
  });
  const client c({first.address(), other.address()});
  ASSERT_TRUE(both_ready.wait());
  EXPECT_EQ(outcome_of_the_second(*c.loop, c.servers), core::status::ok);
  c.servers->close();
  EXPECT_TRUE(first_left.wait() && other_left.wait());
}

TEST(etcd_cluster_epoch, an_older_question_s_failure_does_not_drop_the_answer_to_a_newer_one) {
  expect_that_the_other_one_tells_the_epoch(true);
}

// It is of a server that is logging in, and would put in doubt what another one has told since.
TEST(etcd_cluster_epoch, an_older_question_s_failure_is_nothing_to_who_has_had_the_newer_answer) {
  gate known;
  gate both_ready;
  gate told;
  gate failed;
  gate first_left;
  gate other_left;
  io::peer first([&](const io::peer::client& c, int) {
    line l(c);
    const auto question = doubted_while_it_logs_out(l, known);
    EXPECT_TRUE(told.wait());
    l.fail(question, "14", "etcdserver: request timed out");
    EXPECT_TRUE(l.has_taken_all());
    failed.open();
    l.wait_for_the_end();
    first_left.open();
  });
  io::peer other([&](const io::peer::client& c, int) {
    EXPECT_TRUE(known.wait());
    line l(c);
    l.become_known();
    both_ready.open();
    l.answer_next(epoch_reply());
    const auto one = l.request();
    told.open();
    EXPECT_TRUE(failed.wait());
    EXPECT_EQ(l.count_requests(), 0) << "the epoch is asked for again";
    l.answer(one, txn_reply(ours));
    l.wait_for_the_end();
    other_left.open();
  });
  const client c({first.address(), other.address()});
  ASSERT_TRUE(both_ready.wait());
  EXPECT_EQ(outcome_of_the_second(*c.loop, c.servers), core::status::ok);
  c.servers->close();
  EXPECT_TRUE(first_left.wait() && other_left.wait());
}

TEST(etcd_cluster_epoch, a_question_of_an_earlier_login_that_fails_refuses_no_ready_server) {
  gate known;
  gate left;
  io::peer server([&](const io::peer::client& c, int) {
    line l(c);
    const auto question = doubted_while_it_logs_out(l, known);
    l.log_in();
    l.has_taken_all();
    l.fail(question, "14", "etcdserver: request timed out");
    // What comes next is the question again, and no login.
    l.answer_next(epoch_reply());
    l.answer_next(txn_reply(ours));
    l.wait_for_the_end();
    left.open();
  });
  const client c({server.address()});
  ASSERT_TRUE(known.wait());
  EXPECT_EQ(outcome_of_the_second(*c.loop, c.servers), core::status::ok);
  c.servers->close();
  EXPECT_TRUE(left.wait());
}

TEST(etcd_cluster_epoch, another_server_is_asked_when_one_that_is_not_in_use_fails) {
  expect_that_the_other_one_tells_the_epoch(false);
}

// One that is cut off from its cluster goes on telling its version. The other one is ready later
// than it would be asked for the first time.
TEST(etcd_cluster_epoch, another_server_is_asked_when_one_does_not_tell_it) {
  gate asked;
  gate silent_left;
  gate other_left;
  io::peer silent([&](const io::peer::client& c, int) {
    line l(c);
    l.log_in();
    l.request();
    asked.open();
    l.wait_for_the_end();
    silent_left.open();
  });
  io::peer other([&](const io::peer::client& c, int) {
    EXPECT_TRUE(asked.wait());
    line l(c);
    std::this_thread::sleep_for(2500ms);
    l.log_in();
    l.answer_next(epoch_reply());
    l.answer_next(txn_reply(ours));
    l.wait_for_the_end();
    other_left.open();
  });
  const client c({silent.address(), other.address()});
  EXPECT_EQ(outcome_of_one(*c.loop, c.servers), core::status::ok) << "node_timeout is 8 s";
  c.servers->close();
  EXPECT_TRUE(silent_left.wait() && other_left.wait());
}

TEST(etcd_cluster_epoch, nobody_is_asked_for_it_any_more_when_it_is_known) {
  gate known;
  gate done;
  gate left;
  io::peer first([&](const io::peer::client& c, int) {
    line l(c);
    l.become_known();
    known.open();
    l.wait_for_the_end();
  });
  io::peer other([&](const io::peer::client& c, int) {
    EXPECT_TRUE(known.wait());
    line l(c);
    l.become_known();
    // It would be asked after 2 s, a quarter of node_timeout.
    std::this_thread::sleep_for(2500ms);
    EXPECT_EQ(l.count_requests(), 0);
    done.open();
    l.wait_for_the_end();
    left.open();
  });
  const client c({first.address(), other.address()});
  EXPECT_TRUE(done.wait());
  c.servers->close();
  EXPECT_TRUE(left.wait());
}

// A first call ends as soon as the time for connecting, so that this may be all that it can tell.
TEST(etcd_cluster, a_server_that_has_said_nothing_is_told_from_one_that_is_away) {
  gate left;
  io::peer silent([&](const io::peer::client& c, int) {
    while (!c.read().empty()) {
    }
    left.open();
  });
  const client c({silent.address()});
  std::promise<std::string> told;
  c.loop->post([&] { told.set_value(c.servers->troubles()); });
  EXPECT_NE(told.get_future().get().find("it hangs"), std::string::npos);
  c.servers->close();
  EXPECT_TRUE(left.wait());
}

// It may be of another cluster by now, and then its epoch would be taken for the store's.
TEST(etcd_cluster_epoch, a_server_that_is_back_is_not_asked_beside_one_that_is_in_use) {
  gate known;
  gate in_use;
  gate back;
  gate left;
  gate other_left;
  io::peer returning([&](const io::peer::client& c, int connection) {
    line l(c);
    l.log_in(connection == 0 ? ours : another);
    if (connection == 0) {
      l.answer_next(epoch_reply());
      l.has_taken_all();
      known.open();
      EXPECT_TRUE(in_use.wait());
      return;
    }
    l.request();
    back.open();
    // It is asked whose it is, and for nothing else.
    const auto question = l.asked();
    bool was_all = true;
    while (l.request() > 0) was_all = was_all && l.asked() == question;
    EXPECT_TRUE(was_all) << "it was asked for the epoch";
    left.open();
  });
  io::peer other([&](const io::peer::client& c, int) {
    EXPECT_TRUE(known.wait());
    line l(c);
    l.become_known();
    in_use.open();
    const auto one = l.request();
    const auto two = l.request();
    // The other one is preferred again, and the epoch is in doubt.
    l.fail(one, "14", "etcdserver: request timed out");
    l.answer(two, txn_reply(another));
    l.answer_next(epoch_reply());
    l.answer_next(txn_reply(ours));
    l.wait_for_the_end();
    other_left.open();
  });
  const client c({returning.address(), other.address()});
  ASSERT_TRUE(back.wait());
  EXPECT_EQ(outcome_of_the_second(*c.loop, c.servers), core::status::unknown);
  EXPECT_EQ(outcome_of_one(*c.loop, c.servers), core::status::ok);
  c.servers->close();
  EXPECT_TRUE(left.wait() && other_left.wait());
}

/// What becomes of a transaction that the server which is asked first takes like this, beside one
/// that answers.
core::status outcome_beside_another(const std::function<void(line&)>& take,
                                    repeat how = repeat::never) {
  gate known;
  gate both_ready;
  gate first_left;
  gate other_left;
  io::peer first([&](const io::peer::client& c, int) {
    line l(c);
    l.become_known();
    known.open();
    take(l);
    l.wait_for_the_end();
    first_left.open();
  });
  io::peer other([&](const io::peer::client& c, int) {
    EXPECT_TRUE(known.wait());
    line l(c);
    l.become_known();
    both_ready.open();
    if (const auto stream = l.request(); stream > 0) l.answer(stream, txn_reply(ours));
    l.wait_for_the_end();
    other_left.open();
  });
  const client c({first.address(), other.address()});
  EXPECT_TRUE(both_ready.wait());
  const auto got = outcome_of_one(*c.loop, c.servers, how);
  c.servers->close();
  EXPECT_TRUE(first_left.wait() && other_left.wait());
  return got;
}

TEST(etcd_cluster_refusal, what_one_server_refuses_by_itself_another_is_asked) {
  const std::pair<const char*, const char*> refusals[]{
      {"8", "etcdserver: too many requests"},
      {"3", "etcdserver: request is too large"},
      {"3", "etcdserver: too many operations in txn request"},
      {"12", "unknown service etcdserverpb.KV"},
      {"14", "etcdserver: rpc not supported for learner"}};
  for (const auto& [status, text] : refusals) {
    EXPECT_EQ(outcome_beside_another([&](line& l) { l.fail_all(status, text); }), core::status::ok)
        << text;
  }
}

TEST(etcd_cluster_refusal, what_may_have_been_done_is_sent_to_no_other_server) {
  const std::pair<const char*, const char*> unknown[]{
      {"14", "etcdserver: request timed out"},
      {"14", "etcdserver: leader changed"},
      {"13", "a fault of its own"},
      {"8", "grpc: received message larger than max"}};
  for (const auto& [status, text] : unknown) {
    EXPECT_EQ(outcome_beside_another([&](line& l) { l.fail_all(status, text); }),
              core::status::unknown)
        << text;
  }
  EXPECT_EQ(outcome_beside_another([](line& l) { l.break_all(); }), core::status::unknown);
}

TEST(etcd_cluster_refusal, a_read_that_one_server_may_have_done_is_sent_to_another) {
  const auto fail = [](line& l) { l.fail_all("14", "etcdserver: request timed out"); };
  EXPECT_EQ(outcome_beside_another(fail, repeat::always), core::status::ok);
  const auto break_off = [](line& l) { l.break_all(); };
  EXPECT_EQ(outcome_beside_another(break_off, repeat::always), core::status::ok);
}

// The one that follows a refusal is due while the next connection's takes its time.
TEST(etcd_member, has_one_login_under_way_at_a_time) {
  gate known;
  gate left;
  io::peer server([&](const io::peer::client& c, int connection) {
    line l(c);
    const auto login = l.request();
    if (connection == 0) {
      l.fail(login, "14", "etcdserver: request timed out");
      l.has_taken_all();
      return;
    }
    std::this_thread::sleep_for(1500ms);
    EXPECT_EQ(l.count_requests(), 0);
    l.answer(login, token_reply());
    l.answer_next(status_reply());
    l.answer_next(epoch_reply());
    known.open();
    l.wait_for_the_end();
    left.open();
  });
  const client c({server.address()});
  EXPECT_TRUE(known.wait());
  c.servers->close();
  EXPECT_TRUE(left.wait());
}

TEST(etcd_cluster_refusal, a_server_that_takes_no_calls_is_left_for_another) {
  EXPECT_EQ(outcome_beside_another([](line& l) { l.refuse_all(); }), core::status::ok);
}

/// The same of a server that is alone.
core::reply reply_of_one_server(const std::function<void(line&)>& take) {
  known_server server(take);
  const client c({server.peer.address()});
  EXPECT_TRUE(server.known.wait());
  auto got = reply_to_one(*c.loop, c.servers);
  c.servers->close();
  EXPECT_TRUE(server.left.wait());
  return got;
}
core::status outcome_of_one_server(const std::function<void(line&)>& take) {
  return reply_of_one_server(take).what;
}

TEST(etcd_cluster_refusal, what_was_refused_before_anything_was_done_has_no_unknown_outcome) {
  const std::pair<const char*, const char*> refusals[]{
      {"3", "etcdserver: duplicate key given in txn request"},
      {"7", "etcdserver: permission denied"},
      {"8", "etcdserver: mvcc: database space exceeded"},
      {"9", "etcdserver: authentication is not enabled"},
      {"11", "etcdserver: mvcc: required revision has been compacted"}};
  for (const auto& [status, text] : refusals) {
    EXPECT_EQ(outcome_of_one_server([&](line& l) { l.fail_all(status, text); }),
              core::status::unavailable)
        << text;
  }
}

TEST(etcd_cluster_refusal, only_what_lasts_until_a_person_has_acted_is_said_to_need_one) {
  const auto needs_operator = [](const char* status, const char* text) {
    return reply_of_one_server([&](line& l) { l.fail_all(status, text); }).needs_operator;
  };
  EXPECT_TRUE(needs_operator("7", "etcdserver: permission denied"));
  EXPECT_TRUE(needs_operator("8", "etcdserver: mvcc: database space exceeded"));
  EXPECT_FALSE(needs_operator("11", "etcdserver: mvcc: required revision has been compacted"));
}

TEST(etcd_cluster_refusal, a_server_that_lags_is_asked_again_and_one_that_refuses_for_good_is_not) {
  const auto after_two = [](const char* status, const char* text) {
    return outcome_of_one_server([=](line& l) {
      for (int i = 0; i < 2; ++i) {
        const auto stream = l.request();
        if (stream < 0) return;
        l.fail(stream, status, text);
      }
      if (const auto stream = l.request(); stream > 0) l.answer(stream, txn_reply(ours));
    });
  };
  EXPECT_EQ(after_two("8", "etcdserver: too many requests"), core::status::ok);
  EXPECT_EQ(after_two("3", "etcdserver: request is too large"), core::status::unavailable);
}

}  // namespace
}  // namespace holdfast::engines::etcd
