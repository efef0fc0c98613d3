#include "engines/redis/scripts.hpp"
#include "tests/redis/store.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <ostream>

/// A script whose command is refused half-way undoes nothing: the next attempt finishes it.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;
using engines::redis::script;
namespace scripts = engines::redis::scripts;

/// `holder` has "a", and the others wait for it in this order.
struct scene {
  explicit scene(asker a)
      : ask(a),
        holder(a),
        waiter(a),
        last(a),
        draft(conformance::draft_of(conformance::fresh_id())) {
    held = holder.enqueue("a").mine;
    waiting = waiter.enqueue("a").mine;
    behind = last.enqueue("a").mine;
    as_seen = holder.record().at;
    free_name = last.next_request("b");
    busy_name = last.next_request("a");
  }
  asker ask;
  member holder, waiter, last;
  token held{}, waiting{}, behind{};
  core::version as_seen{};
  core::enqueue_request free_name{}, busy_name{};
  core::open_request draft;
  std::optional<core::open_reply> opened{};
};

struct attempt {
  std::string name;
  const script* what;
  std::function<void(scene&)> once;
  /// What must be true when it was tried again.
  std::function<bool(scene&)> done;
};

void PrintTo(const attempt& a, std::ostream* out) { *out << a.name; }

bool has(member& m, token order) { return m.confirm("a", order).what == status::ok; }
bool keeps_out_others(scene& s, const std::string& name) {
  const auto v = s.waiter.attempt(name);
  if (v.what == status::ok) s.waiter.leave(name, v.mine);
  return v.what == status::busy;
}

bool is_listed(scene& s, const session_id& id) {
  const auto all = s.ask.list().sessions;
  return std::ranges::find(all, id, &core::session_record::id) != all.end();
}

std::vector<attempt> all_attempts() {
  return {
      {"open", &scripts::open, [](scene& s) { s.opened = s.ask.open(s.draft); },
       [](scene& s) { return s.opened->what == status::ok && is_listed(s, s.draft.draft.id); }},
      {"enqueue_free", &scripts::enqueue, [](scene& s) { s.ask.enqueue(s.free_name); },
       [](scene& s) { return keeps_out_others(s, "b"); }},
      {"enqueue_busy", &scripts::enqueue, [](scene& s) { s.ask.enqueue(s.busy_name); },
       [](scene& s) { return keeps_out_others(s, "a"); }},
      {"leave", &scripts::leave, [](scene& s) { s.holder.leave("a", s.held); },
       [](scene& s) { return has(s.waiter, s.waiting) && !has(s.last, s.behind); }},
      {"close", &scripts::close, [](scene& s) { s.holder.close(); },
       [](scene& s) { return has(s.waiter, s.waiting) && !has(s.last, s.behind); }},
      {"take", &scripts::take,
       [](scene& s) {
         s.ask.take({s.holder.id(), s.as_seen});
       },
       [](scene& s) { return has(s.waiter, s.waiting) && !has(s.last, s.behind); }},
      {"deny_waiting", &scripts::deny,
       [](scene& s) {
         s.ask.deny({s.waiter.id(), "op", "why"});
       },
       [](scene& s) {
         s.holder.leave("a", s.held);
         return has(s.last, s.behind);
       }},
      {"deny_holding", &scripts::deny,
       [](scene& s) {
         s.ask.deny({s.holder.id(), "op", "why"});
       },
       [](scene& s) { return keeps_out_others(s, "a") && !has(s.waiter, s.waiting); }},
  };
}

class one_refusal : public store_test {
 protected:
  one_refusal() { o_ = open(user_); }
  void SetUp() override { await(o_, status::ok); }

  void allow(const std::string& right) { s_.command({"ACL", "SETUSER", "holdfast", right}); }
  std::vector<std::string> keys() {
    std::vector<std::string> all;
    for (const auto& key : s_.command({"KEYS", "*"}).elements) all.push_back(key.text);
    return all;
  }
  void expect_nothing_left(scene& s) {
    s.holder.close();
    s.waiter.close();
    s.last.close();
    if (s.opened) s.ask.close({s.draft.draft.id, s.opened->at.inc});
    const auto all = s.ask.list();
    EXPECT_EQ(all.what, status::ok) << all.text;
    member next(s.ask);
    EXPECT_EQ(next.attempt("a").what, status::ok);
    EXPECT_EQ(next.attempt("b").what, status::ok);
    next.close();
    EXPECT_TRUE(process::eventually([&] { return keys().size() == 1; }, 20s))
        << testing::PrintToString(keys());
  }

  server s_{{.users = "user default on nopass ~* &* +@all\n"
                      "user holdfast on >secret ~holdfast:* &* +@all\n"}};
  const std::string user_{"redis://holdfast:secret@" + s_.address() +
                          "?assume_fresh=yes&max_ttl=" + max_ttl};
  engines::opened_store o_;
};

class half_done : public one_refusal, public testing::WithParamInterface<attempt> {};

TEST_P(half_done, is_finished_by_the_next_attempt_whatever_was_refused) {
  const auto& a = GetParam();
  for (const auto command : a.what->commands) {
    SCOPED_TRACE(command);
    scene s(ask(o_));
    allow("-" + std::string(command));
    a.once(s);
    allow("+" + std::string(command));
    // What was asked meanwhile may have been told that the server cannot be used.
    await(o_, status::ok);
    a.once(s);
    EXPECT_TRUE(process::eventually([&] { return a.done(s); }, 20s));
    for (const auto& session : s.ask.list().sessions) {
      const bool is_known = session.id == s.holder.id() || session.id == s.waiter.id() ||
                            session.id == s.last.id() || session.id == s.draft.draft.id;
      if (!is_known) s.ask.take({session.id, session.at});
    }
    expect_nothing_left(s);
  }
}

// What was heard cannot be taken back: a denied session that was told that it holds counts.
TEST_F(one_refusal, no_lock_is_given_that_is_not_written_down) {
  scene s(ask(o_));
  allow("-hset");
  s.holder.leave("a", s.held);
  allow("+hset");
  ASSERT_TRUE(process::eventually([&] { return has(s.waiter, s.waiting); }));
  s.ask.deny({s.waiter.id(), "op", "why"});
  EXPECT_FALSE(has(s.last, s.behind));
  s.waiter.close();
  EXPECT_TRUE(process::eventually([&] { return has(s.last, s.behind); }));
}

TEST_F(one_refusal, who_was_to_end_and_did_not_goes_on_waiting) {
  scene s(ask(o_));
  allow("-del");
  s.waiter.close();
  allow("+del");
  await(o_, status::ok);
  // It sweeps those that are said to have ended.
  s.last.leave("a", s.behind);
  EXPECT_EQ(s.waiter.confirm("a", s.waiting).what, status::queued);
  s.holder.leave("a", s.held);
  EXPECT_TRUE(has(s.waiter, s.waiting));
}

// It was given the lock, and is still named among those that wait.
TEST_F(one_refusal, a_denied_session_that_was_given_the_lock_is_not_swept_with_those_that_wait) {
  scene s(ask(o_));
  allow("-hdel");
  s.holder.leave("a", s.held);
  EXPECT_NE(s.waiter.confirm("a", s.waiting).what, status::ok);
  allow("+hdel");
  await(o_, status::ok);
  s.ask.deny({s.waiter.id(), "op", "why"});
  EXPECT_FALSE(has(s.last, s.behind));
  s.waiter.close();
  EXPECT_TRUE(process::eventually([&] { return has(s.last, s.behind); }));
}

INSTANTIATE_TEST_SUITE_P(scripts, half_done, testing::ValuesIn(all_attempts()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace holdfast::redis_engine_tests
