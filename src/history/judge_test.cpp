#include <holdfast/history.hpp>

#include <gtest/gtest.h>

namespace holdfast::history {
namespace {

std::vector<line> of(const std::string& text) {
  auto all = parse(std::string(header) + text);
  if (!all) throw std::invalid_argument(all.error().message());
  return *std::move(all);
}

verdict found(const std::string& text, std::optional<model> as = {}) {
  const auto all = judge(of(text), {.as = as, .memory_max = {}});
  if (all.size() != 1) throw std::invalid_argument("not one judgement");
  return all[0].found;
}

constexpr auto good = verdict::linearizable;
constexpr auto bad = verdict::violation;

// The three rules of version 1 of the format.

TEST(fenced_mutex, one_holder_after_the_other_is_linearizable) {
  EXPECT_EQ(found("acquire a x 1 10 20 ok\ncheck a x 1 25 26 ok\n"
                  "acquire b x 2 15 30 ok\ncheck b x 2 35 36 ok\n"),
            good);
}

TEST(fenced_mutex, a_check_or_an_unfenced_write_after_a_newer_grant_is_a_violation) {
  const std::string grants = "acquire a x 1 10 20 ok\nacquire b x 2 15 30 ok\n";
  EXPECT_EQ(found(grants + "check a x 1 31 32 ok\n"), bad);
  EXPECT_EQ(found(grants + "write a x 1 31 32 ok\n"), bad);
  EXPECT_EQ(found(grants + "release a x 1 31 32 ok\n"), bad);
  EXPECT_EQ(found(grants + "check a x 1 31 32 lost\n"), good);
  EXPECT_EQ(found(grants + "release a x 1 31 32 lost\n"), good);
}

TEST(fenced_mutex, a_check_that_began_before_the_newer_grant_is_none) {
  EXPECT_EQ(found("acquire a x 1 10 20 ok\nacquire b x 2 15 30 ok\ncheck a x 1 30 31 ok\n"), good);
}

TEST(fenced_mutex, a_token_given_twice_is_a_violation) {
  EXPECT_EQ(found("acquire a x 1 10 20 ok\nacquire b x 1 40 50 ok\n"), bad);
  EXPECT_EQ(found("acquire a x 1 10 20 ok mode=shared\nacquire b x 1 40 50 ok mode=shared\n"), bad);
}

TEST(fenced_mutex, a_smaller_token_asked_for_later_is_a_violation) {
  EXPECT_EQ(found("acquire a x 2 10 20 ok\nacquire b x 1 40 50 ok\n"), bad);
  EXPECT_EQ(found("acquire a x 2 10 20 ok\nacquire b x 1 20 50 ok\n"), good);
}

TEST(fenced_mutex, a_write_to_fenced_storage_proves_nothing) {
  const auto all =
      judge(of("acquire a x 1 10 20 ok\nacquire b x 2 15 30 ok\n"
               "write a x 1 31 32 ok value=late\n"));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].as, model::fenced_mutex);
  EXPECT_EQ(all[0].found, good);
  EXPECT_EQ(all[1].as, model::fenced_register);
  EXPECT_EQ(all[1].found, good);
}

TEST(fenced_mutex, a_released_lock_is_over) {
  EXPECT_EQ(found("acquire a x 1 10 20 ok\nrelease a x 1 21 22 ok\ncheck a x 1 23 24 ok\n"), bad);
  EXPECT_EQ(found("acquire a x 1 10 20 ok\nrelease a x 1 21 22 unavailable\n"
                  "check a x 1 23 24 ok\n"),
            bad);
  // Two threads of one caller's process.
  EXPECT_EQ(found("acquire a x 1 10 20 ok\nrelease a x 1 21 30 ok\ncheck b x 1 23 40 ok\n"), good);
}

TEST(fenced_mutex, a_grant_that_is_not_recorded_is_assumed_where_it_fits) {
  EXPECT_EQ(found("check a x 1 5 6 ok\nacquire b x 2 10 20 ok\n"), good);
  EXPECT_EQ(found("acquire a x 1 5 - pending\ncheck a x 1 8 9 ok\n"), good);
  EXPECT_EQ(found("acquire b x 2 10 20 ok\ncheck a x 1 21 22 ok\n"), bad);
  EXPECT_EQ(found("acquire b x 2 10 20 ok\ncheck b x 2 30 31 ok\ncheck a x 3 25 26 ok\n"), bad);
}

TEST(fenced_mutex, a_pending_line_is_replaced_by_its_return) {
  EXPECT_EQ(found("acquire a x - 10 - pending\nacquire a x 1 10 20 ok\nacquire b x - 15 - pending\n"
                  "check a x 1 30 31 ok\n"),
            good);
}

TEST(fenced_mutex, shared_holders_come_together_and_after_the_last_exclusive_one) {
  EXPECT_EQ(found("acquire a x 1 1 2 ok\nrelease a x 1 3 4 ok\n"
                  "acquire b x 3 5 6 ok mode=shared\nacquire c x 2 7 8 ok mode=shared\n"
                  "check b x 3 9 10 ok\ncheck c x 2 9 10 ok\nacquire d x 4 11 12 ok\n"),
            good);
  EXPECT_EQ(found("acquire b x 3 5 6 ok mode=shared\nacquire a x 4 7 8 ok\ncheck b x 3 9 10 ok\n"),
            bad);
  EXPECT_EQ(found("acquire a x 4 5 6 ok\nacquire b x 3 7 8 ok mode=shared\n"), bad);
  EXPECT_EQ(found("acquire b x 4 5 6 ok mode=shared\nacquire a x 3 7 8 ok\n"), bad);
}

TEST(mutex, without_tokens_the_caller_tells_whose_lock_it_was) {
  const std::string overlap =
      "acquire a x - 10 20 ok\nacquire b x - 25 30 ok\ncheck b x - 31 32 ok\n";
  EXPECT_EQ(found(overlap), good);
  EXPECT_EQ(found(overlap + "check a x - 33 34 ok\n"), bad);
  EXPECT_EQ(found(overlap + "check a x - 26 34 ok\n"), good);
  EXPECT_EQ(found(overlap + "acquire a x - 33 34 ok\ncheck a x - 35 36 ok\n"), good);
  EXPECT_EQ(judge(of(overlap))[0].as, model::mutex);
}

TEST(mutex, tokens_can_be_left_out_of_account) {
  const std::string text = "acquire a x 2 10 20 ok\nacquire b x 1 40 50 ok\n";
  EXPECT_EQ(found(text, model::mutex), good);
  EXPECT_EQ(found(text + "check a x 2 60 61 ok\ncheck b x 1 62 63 ok\n", model::mutex), bad);
}

TEST(fenced_mutex, grants_without_tokens_are_not_judged_and_not_accused) {
  const std::string text = "acquire a x - 1 2 ok\nrelease a x - 3 4 ok\nacquire b x - 5 6 ok\n";
  const auto all = judge(of(text), {.as = model::fenced_mutex, .memory_max = {}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].found, verdict::undecided);
  EXPECT_EQ(all[0].operations, 3U);
  EXPECT_TRUE(all[0].conflict.empty());
  EXPECT_EQ(all[0].why,
            "2 grants have no token, as in a store with tokens=off, and a fenced mutex is judged "
            "by its tokens; judge this name by the model mutex");
  EXPECT_EQ(found(text, model::mutex), good);
  EXPECT_EQ(found("acquire a x - 1 2 busy\nacquire b x 1 1 2 ok\n", model::fenced_mutex), good);
}

TEST(semaphore, n_hold_it_and_no_more) {
  const std::string two =
      "acquire a x 1 1 2 ok mode=permits:2\nacquire b x 2 3 4 ok mode=permits:2\n"
      "check a x 1 10 11 ok\ncheck b x 2 10 11 ok\n";
  EXPECT_EQ(found(two), good);
  EXPECT_EQ(judge(of(two))[0].as, model::semaphore);
  EXPECT_EQ(found(two + "acquire c x 3 5 6 ok mode=permits:2\n"), bad);
  EXPECT_EQ(found(two + "acquire c x 3 5 12 ok mode=permits:2\n"), good);
  EXPECT_EQ(found(two + "acquire c x 3 5 6 ok mode=permits:3\n"), bad);
  EXPECT_EQ(found(two + "acquire c x 2 20 21 ok mode=permits:2\n"), bad) << "a token given twice";
}

TEST(fenced_register, a_read_sees_the_last_write) {
  const std::string w = "write a x 1 1 2 ok value=p\nwrite a x 1 3 4 ok value=q\n";
  EXPECT_EQ(found(w + "read r x - 5 6 ok value=q\n"), good);
  EXPECT_EQ(found(w + "read r x - 5 6 ok value=p\n"), bad);
  EXPECT_EQ(found(w + "read r x - 4 6 ok value=p\n"), good) << "at one moment";
  EXPECT_EQ(found(w + "read r x - 2 3 ok value=p\n"), good);
  EXPECT_EQ(found(w + "read r x - 5 6 ok\n"), bad);
  EXPECT_EQ(found("read r x - 5 6 ok\n"), good);
  EXPECT_EQ(found("read r x - 5 6 ok value=\n"), bad) << "empty is not the same as nothing";
}

TEST(fenced_register, a_smaller_token_after_a_larger_one_is_refused) {
  const std::string w = "write b x 2 1 2 ok value=new\n";
  EXPECT_EQ(found(w + "write a x 1 3 4 ok value=late\n"), bad);
  EXPECT_EQ(found(w + "write a x 1 3 4 stale_token value=late\n"), good);
  EXPECT_EQ(found(w + "write a x 2 3 4 stale_token value=late\n"), bad);
  EXPECT_EQ(found(w + "write a x 1 2 4 ok value=late\nread r x - 5 6 ok value=new\n"), good);
  EXPECT_EQ(found(w + "write a x 1 2 4 ok value=late\nread r x - 5 6 ok value=late\n"), bad);
}

TEST(fenced_register, a_raised_floor_refuses_and_never_goes_down) {
  EXPECT_EQ(found("raise o x 5 1 2 ok\nwrite a x 4 3 4 stale_token\n"), good);
  EXPECT_EQ(found("raise o x 5 1 2 ok\nwrite a x 4 3 4 ok\n"), bad);
  EXPECT_EQ(found("raise o x 5 1 2 ok\nraise o x 3 3 4 ok\nwrite a x 4 5 6 ok value=v\n"), bad);
  EXPECT_EQ(found("write a x 4 3 4 stale_token\n"), bad) << "nothing raised the floor";
}

TEST(fenced_register, what_never_returned_happened_or_not_at_any_later_time) {
  const std::string w = "write a x 1 1 - pending value=p\nread r x - 3 4 ok\n";
  EXPECT_EQ(found(w), good);
  EXPECT_EQ(found(w + "read r x - 5 6 ok value=p\n"), good);
  EXPECT_EQ(found(w + "read r x - 5 6 ok value=p\nread r x - 7 8 ok\n"), bad);
  EXPECT_EQ(found("write a x 1 1 2 outcome_unknown value=p\nread r x - 3 4 ok\n"
                  "read r x - 5 6 ok value=p\n"),
            good);
  EXPECT_EQ(found("write a x 1 1 2 unavailable value=p\nread r x - 5 6 ok value=p\n"), bad);
}

TEST(fenced_register, writes_at_one_time_come_in_either_order) {
  const std::string w = "write a x 1 1 9 ok value=p\nwrite b x 1 1 9 ok value=q\n";
  EXPECT_EQ(found(w + "read r x - 10 11 ok value=p\n"), good);
  EXPECT_EQ(found(w + "read r x - 10 11 ok value=q\n"), good);
  EXPECT_EQ(found(w + "read r x 2 10 11 ok value=p\n"), good) << "a read that raises the floor";
  EXPECT_EQ(found(w + "read r x 2 10 11 ok value=q\n"), good);
}

TEST(fenced_register, a_write_that_returned_is_not_pending_beside_it) {
  const std::string w =
      "write a x 1 1 - pending value=p\nwrite a x 1 1 2 ok value=p\nwrite b x 1 3 4 ok value=q\n";
  EXPECT_EQ(found(w + "read r x - 5 6 ok value=q\n"), good);
  EXPECT_EQ(found(w + "read r x - 5 6 ok value=p\n"), bad);
}

TEST(judging, names_are_judged_apart) {
  const auto all =
      judge(of("acquire a x 2 10 20 ok\nacquire b y 1 40 50 ok\n"
               "open a - - 1 2 ok\nkill b - - 60 61 ok\nacquire a z 1 1 2 ok\n"
               "acquire b z 1 4 5 ok\n"));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].found, good);
  EXPECT_EQ(all[1].lock, "y");
  EXPECT_EQ(all[1].found, good);
  EXPECT_EQ(all[2].found, bad);
  EXPECT_EQ(all[2].conflict, (std::vector<std::size_t>{4, 5}));
}

TEST(judging, nothing_is_found_in_nothing) {
  EXPECT_TRUE(judge({}).empty());
  EXPECT_TRUE(judge(of("open a - - 1 2 ok\nacquire a x - 3 4 busy\n")).empty());
}

TEST(judging, a_conflict_holds_nothing_that_is_not_needed) {
  std::string text;
  std::int64_t t = 1;
  const auto say = [&](const std::string& words, const std::string& end) {
    text += words + " " + std::to_string(t) + " " + std::to_string(t + 1) + end + "\n";
    t += 2;
  };
  for (int n = 1; n <= 40; ++n) {
    say("acquire w" + std::to_string(n % 3) + " x " + std::to_string(n), " ok");
    say("check w" + std::to_string(n % 3) + " x " + std::to_string(n), " ok");
  }
  say("check w0 x 39", " ok");
  for (int n = 41; n <= 60; ++n) say("acquire w1 x " + std::to_string(n), " ok");
  const auto all = judge(of(text));
  ASSERT_EQ(all[0].found, bad);
  // Something that shows the grant of token 40, and what was done under 39 after it.
  ASSERT_EQ(all[0].conflict.size(), 2U);
  EXPECT_GE(all[0].conflict[0], 78U);
  EXPECT_EQ(all[0].conflict[1], 80U);
  EXPECT_NE(all[0].why.find("2 operations have no order"), std::string::npos);
}

TEST(judging, a_conflict_of_storage_keeps_what_explains_the_others) {
  std::string text = "write a x 9 1 2 ok value=first\nwrite a x 8 2 3 stale_token value=no\n";
  for (int n = 10; n < 40; ++n) {
    text += "write a x " + std::to_string(n) + " " + std::to_string(n) + " " + std::to_string(n) +
            " ok value=v" + std::to_string(n) + "\n";
  }
  const auto all =
      judge(of(text + "read r x - 50 51 ok value=v20\nread r x - 52 53 ok value=v39\n"));
  ASSERT_EQ(all[0].found, bad);
  // The write of v20, one after it, and the read of v20 after both.
  ASSERT_EQ(all[0].conflict.size(), 3U);
  EXPECT_EQ(all[0].conflict[0], 12U);
  EXPECT_EQ(all[0].conflict[2], 32U);
}

TEST(judging, says_undecided_when_the_memory_does_not_do) {
  std::string text;
  for (int n = 1; n <= 16; ++n) {
    text += "write w" + std::to_string(n) + " x 1 1 100 ok value=v" + std::to_string(n) + "\n";
  }
  text += "read r x - 101 102 ok value=nobody\n";
  const auto all = judge(of(text), {.as = {}, .memory_max = 1 << 20});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].found, verdict::undecided);
  EXPECT_NE(all[0].why.find("1 MiB of states were not enough for 17 operations"),
            std::string::npos);
  EXPECT_TRUE(all[0].conflict.empty());
}

TEST(judging, ten_thousand_checks_during_one_wait_are_no_burden) {
  std::string text = "acquire b x 2 5 100000 ok\nacquire a x 1 1 2 ok\n";
  for (int i = 0; i < 10'000; ++i) {
    const auto at = std::to_string(10 + 2 * i);
    text += "check a x 1 " + at + " " + at + " ok\n";
  }
  const auto all = judge(of(text), {.as = {}, .memory_max = 8 << 20});
  EXPECT_EQ(all[0].found, good);
  EXPECT_EQ(all[0].operations, 10'002U);
}

}  // namespace
}  // namespace holdfast::history
