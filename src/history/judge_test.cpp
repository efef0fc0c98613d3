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

// What holds of exclusive locks with tokens.

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
  EXPECT_EQ(found("write a x 1 1 - pending\nread r x - 3 4 ok value=p\n"), good) << "any value";
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

// Arrival raises the floor, and the value comes later: holdfast/fence.hpp.

TEST(fenced_register, a_holder_that_was_killed_before_its_write_has_raised_the_floor) {
  const std::string kept = "write a x 1 1 2 ok value=p\nwrite b x 2 3 - pending value=q\n";
  const std::string late = "write a x 1 5 6 stale_token value=r\n";
  EXPECT_EQ(found(kept + late + "read c x - 7 8 ok value=p\n"), good);
  EXPECT_EQ(found(kept + late + "read c x - 7 8 ok value=q\n"), good);
  EXPECT_EQ(found(kept + late + "read c x - 7 8 ok value=r\n"), bad);
  EXPECT_EQ(found(kept + "write a x 1 5 6 ok value=r\n" + "read c x - 7 8 ok value=r\n"), good);
  EXPECT_EQ(found(kept + late + "write a x 1 7 8 ok value=s\n"), bad) << "it never goes down";
  EXPECT_EQ(found("write a x 1 5 6 stale_token value=r\nwrite b x 2 7 - pending value=q\n"), bad)
      << "it had not been called";
}

TEST(fenced_register, what_failed_may_have_raised_the_floor_where_its_outcome_leaves_that_open) {
  const std::string late = "write a x 1 5 6 stale_token value=p\nread r x - 7 8 ok\n";
  for (const std::string outcome :
       {"busy", "timed_out", "cancelled", "unavailable", "lost", "damaged", "outcome_unknown"}) {
    EXPECT_EQ(found("write b x 2 3 4 " + outcome + " value=q\n" + late), good) << outcome;
    EXPECT_EQ(found("read b x 2 3 4 " + outcome + "\n" + late), good) << outcome;
    EXPECT_EQ(found("raise b x 2 3 4 " + outcome + "\n" + late), good) << outcome;
    EXPECT_EQ(found("write b x 2 3 4 " + outcome + " value=q\nwrite a x 1 5 6 ok\n"), good);
  }
  EXPECT_EQ(found("read b x 2 3 - pending\n" + late), good);
  for (const std::string outcome : {"denied", "unsupported", "invalid_argument", "not_initialised",
                                    "expiring", "mode_conflict", "would_block"}) {
    EXPECT_EQ(found("write b x 2 3 4 " + outcome + " value=q\n" + late), bad) << outcome;
    EXPECT_EQ(found("raise b x 2 3 4 " + outcome + "\n" + late), bad) << outcome;
  }
}

TEST(fenced_register, who_was_refused_while_it_waited_had_raised_the_floor_before) {
  const std::string text =
      "write b x 2 1 9 stale_token value=q\nwrite a x 1 2 3 stale_token value=p\n";
  EXPECT_EQ(found(text + "raise c x 3 4 9 ok\n"), good);
  EXPECT_EQ(found(text), bad) << "nothing refuses the newest";
  EXPECT_EQ(found("write b x 2 1 9 stale_token value=q\nraise c x 3 4 9 ok\n"
                  "write d x 3 2 3 stale_token value=p\n"),
            bad);
}

TEST(fenced_register, a_write_that_was_let_in_ends_after_a_newer_one_has_come) {
  const std::string text =
      "write a x 1 1 60 ok value=p\nwrite b x 2 10 90 ok value=q\n"
      "write c x 1 20 25 stale_token value=s\nread r x - 30 35 ok\n";
  EXPECT_EQ(found(text + "read r x - 61 62 ok value=p\nread r x - 91 92 ok value=q\n"), good);
  EXPECT_EQ(found(text + "read r x - 61 62 ok value=p\nread r x - 91 92 ok value=p\n"), bad);
  EXPECT_EQ(found(text + "read r x - 36 37 ok value=q\nread r x - 58 59 ok value=p\n"), bad);
}

TEST(fenced_register, a_write_after_a_newer_one_that_returned_breaks_the_fence) {
  const std::string late = "write a x 1 1 60 ok value=p\n";
  const std::string seen = "read r x - 30 35 ok\nread r x - 61 62 ok value=p\n";
  EXPECT_EQ(found(late + "write b x 2 10 20 ok value=q\n" + seen), bad);
  EXPECT_EQ(found(late + "raise b x 2 10 20 ok\n" + seen), bad);
  EXPECT_EQ(found(late + "read b x 2 10 20 ok\n" + seen), bad);
  EXPECT_EQ(found(late + "write b x 2 10 20 timed_out value=q\n" + seen), good);
  EXPECT_EQ(found("write a x 1 1 - pending value=p\nwrite b x 2 10 20 ok value=q\n"
                  "read r x - 30 31 ok value=p\n"),
            bad);
}

TEST(fenced_register, a_token_that_reads_shuts_out_no_write_before_it_has_to) {
  EXPECT_EQ(found("write a x 1 1 2 ok value=p\nread b x 2 3 20 ok value=p\n"
                  "write c x 1 1 - pending value=q\nwrite d x 1 1 - pending value=p\n"
                  "read r x - 5 6 ok value=q\nread r x - 7 8 ok value=p\n"),
            good);
}

TEST(fenced_register, readers_with_shared_tokens_do_not_replace_each_other) {
  const std::string reads =
      "write w x 1 1 2 ok value=p\nread b x 3 5 6 ok mode=shared value=p\n"
      "read a x 2 7 8 ok mode=shared value=p\n";
  EXPECT_EQ(found(reads), good);
  EXPECT_EQ(found(reads + "read a x 2 9 10 ok value=p\n"), bad) << "not as a reader";
  EXPECT_EQ(found(reads + "read a x 2 9 10 stale_token mode=shared\n"), bad);
  EXPECT_EQ(found(reads + "write d x 2 9 10 ok value=q\n"), bad) << "below a reader's";
  EXPECT_EQ(found(reads + "write d x 2 9 10 stale_token value=q\n"), good);
  const std::string newer = reads + "write d x 4 9 10 ok value=q\n";
  EXPECT_EQ(found(newer + "read b x 3 11 12 stale_token mode=shared\n"), good);
  EXPECT_EQ(found(newer + "read b x 3 11 12 ok mode=shared value=q\n"), bad);
  EXPECT_EQ(found(newer + "read e x 5 11 12 ok mode=shared value=q\n"), good);
}

TEST(fenced_register, what_a_refusal_proves_shuts_out_writes_that_nobody_knows_of) {
  const auto text = [](const std::string& token, const std::string& invoked) {
    return "write b x 5 1 - pending value=q\nwrite a x 3 5 6 stale_token\nwrite c x " + token +
           " " + invoked + " - pending value=r\nread r x - 9 10 ok value=r\n";
  };
  EXPECT_EQ(found(text("4", "7")), bad);
  EXPECT_EQ(found(text("4", "6")), good) << "it may have come before the refusal";
  EXPECT_EQ(found(text("5", "7")), good);
  // The reader's 7 refuses 6 before 3 reads, so 5, which 3 comes before, is too late for the 7.
  const std::string readers =
      "read u x 7 1 2 timed_out mode=shared\nwrite w x 5 2 - pending value=r\n"
      "write a x 6 5 6 stale_token\nread b x 3 8 9 ok mode=shared\n";
  EXPECT_EQ(found(readers), good);
  EXPECT_EQ(found(readers + "read r x - 10 11 ok value=r\n"), bad);
  const std::string passed =
      "read u x 7 1 30 ok mode=shared\nwrite a x 6 5 6 stale_token\n"
      "read b x 3 8 9 ok mode=shared\n";
  EXPECT_EQ(found(passed + "read w x 3 2 30 ok\n"), good);
  EXPECT_EQ(found(passed + "read w x 5 2 30 ok\n"), bad);
}

TEST(fenced_register, a_refusal_without_a_token_says_nothing) {
  EXPECT_EQ(found("write a x - 1 2 stale_token\nread r x - 3 4 ok\n"), good);
  EXPECT_EQ(found("write a x - 1 2 stale_token\nread r x - 3 4 ok value=p\n"), bad);
}

/// One holder after the other takes a token and is killed in its write, which does not come.
std::string thousand_killed(const std::string& value) {
  std::string text;
  for (int n = 1; n <= 1000; ++n) {
    const auto line = [&](const std::string& what, int token, int at, const std::string& end) {
      const std::string t = token == 0 ? "-" : std::to_string(token);
      text += what + " c" + std::to_string(n) + " x " + t + " " + std::to_string(10 * n + at) + " ";
      text += (end[0] == '-' ? "" : std::to_string(10 * n + at + 1) + " ") + end + "\n";
    };
    line("write", 2 * n, 1, "- pending value=" + value + std::to_string(n % 2));
    line("write", 2 * n - 1, 2, "stale_token value=late");
    line("write", 2 * n + 1, 4, "ok value=v" + std::to_string(n % 2));
    line("read", 0, 6, "ok value=v" + std::to_string(n % 2));
  }
  return text;
}

TEST(fenced_register, a_thousand_killed_holders_are_no_burden) {
  for (const std::string value : {"lost", "v"}) {
    const auto text = thousand_killed(value);
    const auto all = judge(of(text), {.as = {}, .memory_max = 1 << 20});
    EXPECT_EQ(all[0].found, good) << value;
    EXPECT_EQ(all[0].operations, 4000U);
    const auto late = judge(of(text + "write late x 1000 20000 20001 ok value=v0\n"),
                            {.as = {}, .memory_max = 4 << 20});
    EXPECT_EQ(late[0].found, bad) << value;
    EXPECT_EQ(late[0].conflict.size(), 2U) << value;
  }
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

TEST(judging, a_refusal_is_shown_with_what_explains_it) {
  for (const std::string end : {"4 timed_out", "90 ok"}) {
    const auto all = judge(of("read c x 9 1 " + end + "\nwrite a x 8 2 3 stale_token value=no\n" +
                              "write b x 1 1 2 ok value=p\nwrite b x 7 5 6 ok value=p\n"));
    ASSERT_EQ(all[0].found, bad);
    EXPECT_EQ(all[0].conflict, (std::vector<std::size_t>{0, 1, 3})) << end;
  }
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
