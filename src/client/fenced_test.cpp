#include <holdfast/fenced.hpp>
#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include "client/outcome_fixture.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;

class replace_fenced_test : public ::testing::Test {
 protected:
  session holder(const std::string& where) {
    auto options = where.empty() ? result<session_options>(session_options{})
                                 : fenced_at(where, {.ttl = 30s, .label = "night shift"});
    return std::move(open(url_, std::move(options).value()).value());
  }
  result<std::vector<fenced_lock>> replace(const session& s, replace_options how = {}) {
    how.by = "operator";
    return replace_fenced(url_, s.id(), fence_, how);
  }
  /// As `holdfast run --fenced` does: the fence has seen the holder.
  holdfast::lock acquire(session& s, const char* name) {
    auto held = s.acquire(lock_name(name), {.wait = 5s}).value();
    EXPECT_TRUE(fence::open(fence_, name).value().admit(*held.fencing_token()));
    return held;
  }
  bool is_free(const char* name) {
    auto s = open(url_).value();
    return s.try_acquire(lock_name(name)).has_value();
  }
  token floor_of(const char* name) {
    const auto f = fence::open(fence_, name, older_passes::wait, missing::refuse);
    return f ? f->floor() : token{};
  }
  bool is_denied(const session& s) {
    const auto all = store::open(url_).value().list().value();
    for (const auto& each : all.sessions) {
      if (each.id == s.id()) return each.denied;
    }
    return false;
  }

  tests::temporary_directory at_;
  std::string url_{"local:" + at_.path() + "/store"};
  std::string fence_{"file:" + at_.path() + "/fence"};
};

TEST_F(replace_fenced_test, the_floor_is_raised_before_the_lock_is_free) {
  auto s = holder(fence_);
  auto held = acquire(s, "x");
  std::vector<replacing> steps;
  replace_options how;
  how.on_step = [&](replacing step, const fenced_lock* l) -> result<void> {
    steps.push_back(step);
    if (l != nullptr) {
      EXPECT_EQ(l->held, held.token());
      EXPECT_EQ(floor_of("x"), token{held.token().value + 1});
    }
    EXPECT_EQ(is_free("x"), step == replacing::freed);
    return {};
  };
  const auto done = replace(s, how);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(steps, (std::vector{replacing::denied, replacing::raised, replacing::freed}));
  auto f = fence::open(fence_, "x").value();
  ASSERT_TRUE(f.source()) << "another lock's token would bind it";
  EXPECT_EQ(f.source()->lock, lock_name("x"));
  EXPECT_EQ(code(f.admit(*held.fencing_token())), errc::stale_token);
  auto next = open(url_).value();
  auto taken = next.try_acquire(lock_name("x"));
  ASSERT_TRUE(taken);
  EXPECT_TRUE(f.admit(*taken->fencing_token()));
}

TEST_F(replace_fenced_test, a_dry_run_says_what_it_would_do_and_changes_nothing) {
  auto s = holder(fence_);
  const auto held = acquire(s, "x");
  replace_options how;
  how.dry_run = true;
  how.on_step = [](replacing, const fenced_lock*) -> result<void> {
    ADD_FAILURE() << "a step of a dry run";
    return {};
  };
  const auto planned = replace(s, how);
  ASSERT_TRUE(planned);
  ASSERT_EQ(planned->size(), 1U);
  EXPECT_EQ(planned->front().floor, token{held.token().value + 1});
  EXPECT_FALSE(is_denied(s));
  EXPECT_EQ(floor_of("x"), held.token());
  EXPECT_FALSE(is_free("x"));
  EXPECT_TRUE(held.check());
}

TEST_F(replace_fenced_test, a_dry_run_refuses_the_texts_that_the_replacement_would_refuse) {
  auto s = holder(fence_);
  const auto held = acquire(s, "x");
  for (const bool dry_run : {true, false}) {
    replace_options how;
    how.dry_run = dry_run;
    how.why = std::string(session_options::text_max + 1, 'y');
    const auto refused = replace(s, how);
    EXPECT_EQ(code(refused), errc::invalid_argument);
    EXPECT_NE(refused.error().message().find("257"), std::string::npos);
  }
  EXPECT_FALSE(is_denied(s));
  EXPECT_EQ(floor_of("x"), held.token());
}

TEST_F(replace_fenced_test, is_refused_for_a_session_that_was_not_opened_with_this_very_fence) {
  for (const std::string& where : {std::string(), fence_ + "2"}) {
    auto s = holder(where);
    const auto held = s.acquire(lock_name("x")).value();
    const auto refused = replace(s);
    EXPECT_EQ(code(refused), errc::invalid_argument);
    EXPECT_NE(refused.error().message().find(where.empty() ? "without a fence" : where),
              std::string::npos);
    EXPECT_FALSE(is_denied(s));
    EXPECT_EQ(floor_of("x"), token{0});
  }
}

TEST_F(replace_fenced_test, is_refused_at_a_fence_that_has_not_seen_the_holder) {
  auto s = holder(fence_);
  const auto held = s.acquire(lock_name("x")).value();
  EXPECT_EQ(code(replace(s)), errc::unavailable) << "no file at all, as on another machine";
  ASSERT_TRUE(fence::open(fence_, "ledger").value().admit(*held.fencing_token()));
  EXPECT_FALSE(replace(s)) << "a resource of another name";
  const fencing_token older{held.fencing_token()->from, token{held.token().value - 1}};
  if (older.value.value > 0) {
    ASSERT_TRUE(fence::open(fence_, "x").value().admit(older));
    EXPECT_EQ(code(replace(s)), errc::invalid_argument) << "a file that saw only the one before";
  }
  EXPECT_FALSE(is_denied(s));
  EXPECT_FALSE(is_free("x"));
}

TEST_F(replace_fenced_test, is_refused_for_a_lock_that_is_shared_with_others) {
  auto s = holder(fence_);
  const auto held = s.try_acquire(lock_name("x"), mode::shared()).value();
  EXPECT_EQ(code(replace(s)), errc::unsupported);
  EXPECT_FALSE(is_denied(s));
}

TEST_F(replace_fenced_test, ended_between_two_steps_it_leaves_a_lock_that_is_not_free) {
  for (const auto last : {replacing::denied, replacing::raised}) {
    auto s = holder(fence_);
    const auto held = acquire(s, "x");
    replace_options how;
    how.on_step = [&](replacing step, const fenced_lock*) {
      return step == last ? result<void>(errc::cancelled) : result<void>();
    };
    EXPECT_EQ(code(replace(s, how)), errc::cancelled);
    EXPECT_TRUE(is_denied(s));
    EXPECT_FALSE(is_free("x"));
    EXPECT_EQ(floor_of("x") > held.token(), last == replacing::raised);
    EXPECT_TRUE(replace(s));
    EXPECT_TRUE(is_free("x"));
  }
}

TEST_F(replace_fenced_test, a_floor_that_cannot_be_raised_leaves_the_lock_taken) {
  auto s = holder(fence_);
  auto held = s.acquire(lock_name("x")).value();
  auto f = fence::open(fence_, "x").value();
  auto writing = f.enter(*held.fencing_token());
  ASSERT_TRUE(writing);
  replace_options how;
  how.wait = 20ms;
  EXPECT_EQ(code(replace(s, how)), errc::timed_out);
  EXPECT_FALSE(is_free("x"));
  { const pass ended = std::move(*writing); }
  EXPECT_TRUE(replace(s));
  EXPECT_TRUE(is_free("x"));
}

TEST_F(replace_fenced_test, a_resource_of_another_lock_is_not_raised) {
  auto s = holder(fence_);
  const auto held = s.acquire(lock_name("x")).value();
  auto f = fence::open(fence_, "x").value();
  ASSERT_TRUE(f.admit({{store_identity("other"), lock_name("x")}, token{1}}));
  EXPECT_EQ(code(replace(s)), errc::invalid_argument);
  EXPECT_EQ(floor_of("x"), token{1});
  EXPECT_FALSE(is_free("x"));
}

TEST(fenced_at, puts_the_fence_at_the_end_of_the_label) {
  const auto o = fenced_at("file:/srv/a fence", {.label = "night shift"});
  ASSERT_TRUE(o);
  EXPECT_EQ(o->label, "night shift fenced=file:/srv/a fence");
  owner_info owner;
  owner.label = o->label;
  EXPECT_EQ(fenced_where(owner), "file:/srv/a fence");
  owner.label = "unfenced=file:/srv/a";
  EXPECT_EQ(fenced_where(owner), "");
  for (const char* where : {"file:/srv/fenced=data/floors", "file:/srv/fenced="}) {
    owner.label = fenced_at(where, {.label = "night shift"}).value().label;
    EXPECT_EQ(fenced_where(owner), where);
    owner.label = fenced_at(where).value().label;
    EXPECT_EQ(fenced_where(owner), where);
  }
  EXPECT_EQ(code(fenced_at("file:/srv/a fenced=file:/srv/b")), errc::invalid_argument);
  EXPECT_EQ(code(fenced_at("file:relative")), errc::invalid_argument);
  EXPECT_EQ(code(fenced_at("file:/" + std::string(256, 'x'))), errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast
