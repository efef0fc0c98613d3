#include "engines/redis/scripts.hpp"
#include "tests/redis/store.hpp"

#include <cstdlib>
#include <thread>

/// A server that comes back without its newest writes grants nothing before every lease has ended.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class restart : public store_test {
 protected:
  restart() { max_ttl = "2s"; }
  /// Without assume_fresh: a wait is a wait.
  std::string patient(const server& s) const {
    return "redis://" + s.address() + "?max_ttl=" + max_ttl;
  }
  /// A store that was set up, and a client of it that would wait.
  engines::opened_store founded(const server& s) const {
    { await(open(url(s)), status::ok); }
    auto o = open(patient(s));
    await(o, status::ok);
    return o;
  }
};

server durable() { return server({.append_only = true, .fsync = "always"}); }

TEST_F(restart, an_empty_server_is_waited_out_at_its_first_use) {
  server s;
  const auto began = steady_clock::now();
  const auto o = open(patient(s));
  const auto r = ask(o).open(conformance::draft_of(conformance::fresh_id(), 500ms));
  EXPECT_EQ(r.what, status::unavailable);
  EXPECT_NE(r.text.find("assume_fresh=yes"), std::string::npos) << r.text;
  EXPECT_NE(r.text.find("127.0.0.1"), std::string::npos) << r.text;
  await(o, status::ok);
  EXPECT_GE(steady_clock::now() - began, 2022ms);
}

TEST_F(restart, one_that_restarts_empty_is_waited_out_and_tokens_go_on_growing) {
  server s;
  member before(ask(founded(s)), 500ms);
  const auto held = before.enqueue("a");
  ASSERT_EQ(held.what, status::ok);
  s.kill();
  s.start(server::data::wipe);
  const auto began = steady_clock::now();
  const auto o = open(patient(s));
  await(o, status::ok);
  EXPECT_GE(steady_clock::now() - began, 2022ms);
  member after(ask(o), 500ms);
  EXPECT_GT(after.enqueue("a").mine, held.mine);
}

// What others took there meanwhile may be held, whatever was so when it was opened.
TEST_F(restart, who_used_a_server_waits_it_out_whatever_its_url_assumed_at_first) {
  server s;
  const auto first = open(url(s));
  await(first, status::ok);
  member holder(ask(open(patient(s))), 500ms);
  ASSERT_EQ(holder.enqueue("a").what, status::ok);
  s.kill();
  s.start(server::data::wipe);
  const auto began = steady_clock::now();
  await(first, status::ok);
  EXPECT_GE(steady_clock::now() - began, 2022ms);
  EXPECT_EQ(member(ask(first), 500ms).enqueue("a").what, status::ok);
}

TEST_F(restart, what_a_program_knows_of_a_server_outlives_its_last_session) {
  server s;
  std::uint64_t known{};
  {
    const auto first = open(url(s));
    await(first, status::ok);
    known = member(ask(first), 500ms).enqueue("a").mine.value + 1'000'000'000'000;
    // As if the server's clock had been that far ahead, and is set back while it is away.
    s.command({"HSET", "holdfast:store", "floor", std::to_string(known)});
    EXPECT_GT(member(ask(first), 500ms).enqueue("b").mine.value, known);
  }
  s.kill();
  s.start(server::data::wipe);
  const auto began = steady_clock::now();
  const auto second = open(url(s));
  await(second, status::ok);
  EXPECT_GE(steady_clock::now() - began, 2022ms) << "it used the server: it cannot be fresh";
  EXPECT_GT(member(ask(second), 500ms).enqueue("a").mine.value, known);
}

TEST_F(restart, a_holder_learns_by_its_next_beat_that_its_session_is_gone) {
  server s;
  const auto o = founded(s);
  member m(ask(o), 500ms);
  const auto held = m.enqueue("a");
  s.kill();
  s.start(server::data::wipe);
  await(o, status::ok);
  EXPECT_EQ(m.beat().what, status::gone);
  EXPECT_EQ(m.confirm("a", held.mine).what, status::gone);
}

TEST_F(restart, one_that_syncs_every_write_keeps_its_locks_and_grants_at_once) {
  max_ttl = "1h";  // Nobody waits for that long.
  auto s = durable();
  const auto o = founded(s);
  member m(ask(o), 500ms);
  const auto held = m.enqueue("a");
  ASSERT_EQ(held.what, status::ok);
  s.kill();
  s.start();
  await(o, status::ok);
  EXPECT_EQ(m.beat().what, status::ok);
  EXPECT_EQ(m.confirm("a", held.mine).what, status::ok);
  member other(ask(o), 500ms);
  EXPECT_EQ(other.attempt("a").what, status::busy);
  EXPECT_GT(other.enqueue("b").mine, held.mine);
}

TEST_F(restart, one_that_comes_back_with_an_older_state_is_waited_out) {
  server s;
  const auto o = founded(s);
  member early(ask(o), 500ms);
  ASSERT_EQ(early.enqueue("a").what, status::ok);
  s.command({"SAVE"});
  member late(ask(o), 500ms);
  const auto forgotten = late.enqueue("b");
  s.kill();
  s.start();
  const auto began = steady_clock::now();
  await(o, status::ok);
  EXPECT_GE(steady_clock::now() - began, 2022ms);
  member m(ask(o), 500ms);
  EXPECT_GT(m.enqueue("b").mine, forgotten.mine);
  EXPECT_EQ(early.beat().what, status::gone) << "its session is of an earlier life";
}

TEST_F(restart, flushall_is_seen_by_the_very_next_script) {
  server s;
  const auto o = founded(s);
  member m(ask(o), 500ms);
  ASSERT_EQ(m.enqueue("a").what, status::ok);
  s.command({"FLUSHALL"});
  EXPECT_EQ(m.beat().what, status::unavailable);
  const auto r = ask(o).open(conformance::draft_of(conformance::fresh_id(), 500ms));
  EXPECT_EQ(r.what, status::unavailable) << r.text;
  await(o, status::ok);
  EXPECT_EQ(m.beat().what, status::gone);
}

TEST_F(restart, another_store_that_is_swapped_in_is_waited_out) {
  server s;
  const std::string one = "redis://" + s.address() + "/1?max_ttl=" + max_ttl;
  const auto o = founded(s);
  member m(ask(o), 2s);
  ASSERT_EQ(m.enqueue("a").what, status::ok);
  await(open(one + "&assume_fresh=yes"), status::ok);
  s.command({"SWAPDB", "0", "1"});
  const auto began = steady_clock::now();
  await(o, status::ok);
  EXPECT_GE(steady_clock::now() - began, 2022ms);
  EXPECT_EQ(m.beat().what, status::gone);
}

// As after a client that does not know the store saw the loss first.
TEST_F(restart, a_loss_is_waited_out_by_the_longest_max_ttl_that_anybody_knows) {
  max_ttl = "4s";
  server s;
  { await(open(url(s)), status::ok); }
  const auto knows = open("redis://" + s.address());
  await(knows, status::ok);
  const auto run_id = s.command({"HGET", "holdfast:store", "run_id"}).text;
  s.command({"FLUSHALL"});
  s.command({"HSET", "holdfast:store", "format", "1", "nonce", "0123456789abcdef", "run_id", run_id,
             "admitted", "0", "floor", "1", "max_ttl", "1000000000", "durable", "0"});
  const auto began = steady_clock::now();
  { await(open("redis://" + s.address() + "?max_ttl=1s"), status::unavailable); }
  EXPECT_EQ(ask(knows).list().what, status::unavailable);
  EXPECT_TRUE(process::eventually([&] {
    return s.command({"HGET", "holdfast:store", "max_ttl"}).text == "4000000000";
  }));
  await(open("redis://" + s.address()), status::ok);
  EXPECT_GE(steady_clock::now() - began, 4042ms);
}

TEST_F(restart, the_next_process_of_this_user_goes_on_with_the_wait) {
  max_ttl = "6s";
  server s;
  const auto began = steady_clock::now();
  { await(open(patient(s)), status::unavailable); }
  std::this_thread::sleep_for(5s);
  const auto second = steady_clock::now();
  await(open(patient(s)), status::ok);
  EXPECT_LT(steady_clock::now() - second, 5s);
  EXPECT_GE(steady_clock::now() - began, 6062ms);
}

// A service in a container that can write nowhere, which tries again until it gets its store.
TEST_F(restart, a_program_that_can_keep_no_notes_goes_on_with_the_wait_at_its_next_try) {
  server s;
  ::setenv("XDG_STATE_HOME", "/dev/null/state", 1);
  const auto began = steady_clock::now();
  const auto try_once = [&] {
    return ask(open(patient(s))).open(conformance::draft_of(conformance::fresh_id(), 500ms));
  };
  std::string why;
  EXPECT_TRUE(process::eventually([&] {
    const auto r = try_once();
    why = r.text;
    return r.what == status::ok;
  })) << why;
  EXPECT_GE(steady_clock::now() - began, 2022ms);
}

TEST_F(restart, no_key_has_a_ttl_that_a_step_of_the_clock_could_end) {
  server s;
  const auto o = open(url(s));
  member m(ask(o), 500ms), waiter(ask(o), 500ms);
  m.enqueue("a");
  waiter.enqueue("a");
  const auto keys = s.command({"KEYS", "*"}).elements;
  EXPECT_GE(keys.size(), 6U);
  for (const auto& key : keys) {
    EXPECT_EQ(s.command({"PTTL", key.text}).integer, -1) << key.text << " would expire";
  }
}

TEST_F(restart, what_an_earlier_life_left_is_removed) {
  server s;
  const auto o = open(url(s));
  member m(ask(o), 500ms);
  for (int i = 0; i < 500; ++i) m.enqueue("n" + std::to_string(i));
  s.command({"HSET", "holdfast:store", "run_id", "of another process"});
  s.command({"CLIENT", "KILL", "TYPE", "normal"});
  s.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  await(o, status::ok);
  EXPECT_TRUE(process::eventually([&] {
    return s.command({"KEYS", "holdfast:*:x:*"}).elements.empty();
  }));
}

TEST_F(restart, a_server_that_drops_what_it_synced_is_a_new_life) {
  for (const bool may_write : {true, false}) {
    const std::string rights = may_write ? "+@all" : "+@all -hset";
    server s({.append_only = true,
              .fsync = "always",
              .users = "user default on nopass ~* &* " + rights +
                       "\nuser bob on >secret ~* &* +@all\n"});
    const std::string at = "redis://bob:secret@" + s.address();
    const auto first = open(at + "?assume_fresh=yes");
    await(first, status::ok);
    std::string text;
    for (const finding& f : first.diagnose().value()) text += f.text + "\n";
    EXPECT_EQ(text.find("drops what scripts wrote") == std::string::npos, may_write) << text;
    s.kill();
    s.start();
    await(open(at), may_write ? status::ok : status::unavailable);
  }
}

// Who began a life may have ended before it had removed what was there, and the server may be full.
TEST_F(restart, what_an_earlier_life_left_is_removed_by_any_later_client) {
  server s({.users = "user default on nopass ~* &* +@all\n"
                     "user unclean on nopass ~* &* +@all -scan\n"});
  {
    const auto o = open(url(s));
    member m(ask(o), 500ms);
    for (int i = 0; i < 2000; ++i) m.enqueue("n" + std::to_string(i));
  }
  const auto left = [&] { return s.command({"KEYS", "holdfast:*:x:*"}).elements.size(); };
  s.command({"HSET", "holdfast:store", "run_id", "of another process"});
  { await(open("redis://unclean:any@" + s.address() + "?assume_fresh=yes"), status::ok); }
  ASSERT_EQ(left(), 2000U);
  s.command({"CONFIG", "SET", "maxmemory", "1"});
  for (int i = 0; i < 100 && left() > 0; ++i) {
    const auto o = open(patient(s));
    EXPECT_EQ(ask(o).list().what, status::ok) << "it ends at once";
  }
  EXPECT_EQ(left(), 0U);
}

/// Whoever lets a server grant, say, may have read the record before it lost its state once more.
TEST_F(restart, a_record_that_is_another_than_was_seen_is_not_written_over) {
  server s;
  const auto o = open(url(s));
  await(o, status::ok);
  const auto record = [&] {
    std::vector<std::string> all;
    const auto got =
        s.command({"HMGET", "holdfast:store", "nonce", "run_id", "admitted", "max_ttl"});
    for (const auto& field : got.elements) all.push_back(field.text);
    return all;
  };
  const auto write = [&](const std::vector<std::string>& seen) {
    return s
        .command({"EVALSHA", std::string(engines::redis::scripts::write.sha1), "0", seen[0],
                  seen[1], seen[2], seen[3], "0123456789abcdef", "another", "1", "2000000000", "0",
                  "0", "", "0"})
        .integer;
  };
  const auto there = record();
  for (std::size_t i = 0; i < there.size(); ++i) {
    auto seen = there;
    seen[i] += '0';
    EXPECT_EQ(write(seen), 0) << i;
    EXPECT_EQ(record(), there) << i;
  }
  EXPECT_EQ(write({"", "", "", ""}), 0) << "there was none";
  EXPECT_EQ(record(), there);
  const std::string ahead = "5000000000000000";  // Of its clock.
  s.command({"HSET", "holdfast:store", "floor", ahead});
  EXPECT_EQ(write(there), 1);
  EXPECT_EQ(record()[0], "0123456789abcdef");
  EXPECT_EQ(s.command({"HGET", "holdfast:store", "floor"}).text, ahead) << "tokens never fall";
}

TEST_F(restart, who_cleans_up_for_a_life_that_is_over_removes_nothing_of_the_next) {
  server s;
  const auto o = open(url(s));
  member m(ask(o), 500ms);
  ASSERT_EQ(m.enqueue("a").what, status::ok);
  const auto life = s.command({"HGET", "holdfast:store", "nonce"}).text;
  const std::string over = "0123456789abcdef";
  s.command({"SET", "holdfast:" + over + ":x:a", "left"});
  s.command({"SET", "holdfast:abc:x:a", "of somebody else"});
  s.command({"HSET", "holdfast:store", "uncleaned", "0"});
  const auto clean = [&](const std::string& of) {
    s.command({"EVALSHA", std::string(engines::redis::scripts::clean.sha1), "0", of});
  };
  const auto is_there = [&](const std::string& nonce) {
    return s.command({"EXISTS", "holdfast:" + nonce + ":x:a"}).integer == 1;
  };
  clean(over);
  EXPECT_TRUE(is_there(life)) << "and so it is held";
  clean(life);
  EXPECT_TRUE(is_there(life));
  EXPECT_TRUE(is_there("abc"));
  EXPECT_FALSE(is_there(over));
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
