#include "tests/promises/store_promises.hpp"

#include <algorithm>
#include <string>
#include <vector>

/// What a lock may be called, who may share it, and what a session may say of itself.

namespace holdfast::promises {
namespace {

using testing::HasSubstr;

bool is_allowed(int byte) { return byte >= 0x20 && byte != 0x7f; }

/// Each allowed byte alone, all of them, what others would take for a path, a pattern, an escape or
/// the same, and the shortest and longest.
std::vector<lock_name> names_of_every_kind() {
  std::vector<lock_name> all;
  std::string low;
  std::string high;
  for (int byte = 0; byte < 256; ++byte) {
    if (!is_allowed(byte)) continue;
    const std::string one(1, static_cast<char>(byte));
    all.emplace_back(one);
    (byte < 0x80 ? low : high) += one;
  }
  for (const std::string& text : {low,
                                  high,
                                  low + high,
                                  std::string("a/"),
                                  std::string("/a"),
                                  std::string("a//b"),
                                  std::string("a/../b"),
                                  std::string(".."),
                                  std::string("%61"),
                                  std::string("%00"),
                                  std::string("a*"),
                                  std::string("aa"),
                                  std::string("Aa"),
                                  std::string("a "),
                                  std::string("\xc3\xa9"),
                                  std::string("e\xcc\x81"),
                                  std::string("zookeeper"),
                                  std::string("sessions"),
                                  std::string(511, 'x'),
                                  std::string(512, 'x'),
                                  std::string(512, '\xff'),
                                  std::string(512, '/')}) {
    all.emplace_back(text);
  }
  return all;
}

TEST_P(store_promises, every_allowed_byte_and_length_is_a_name_of_its_own) {
  const auto names = names_of_every_kind();
  session s = open();
  session other = open();
  const auto held = s.acquire_all(names, {.wait = long_enough});
  ASSERT_TRUE(succeeded(held));
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(held->at(i).name(), names[i]);
  auto sorted = names;
  std::ranges::sort(sorted);
  std::vector<lock_name> listed;
  for (const auto& l : list().locks) listed.push_back(l.name);
  EXPECT_EQ(listed, sorted) << "byte for byte, in byte order";
  for (const auto& name : {names.front(), names.back(), lock_name("a/"), lock_name("%61")}) {
    EXPECT_EQ(code(other.try_acquire(name)), errc::busy) << name.printable();
  }
}

TEST_P(store_promises, what_is_no_name_is_refused) {
  session s = open();
  std::vector<std::string> bad{"", std::string(513, 'x')};
  for (int byte = 0; byte < 256; ++byte) {
    if (!is_allowed(byte)) bad.push_back("a" + std::string(1, static_cast<char>(byte)) + "b");
  }
  for (const auto& text : bad) {
    const lock_name name(text);
    const auto l = s.try_acquire(name);
    EXPECT_EQ(code(l), errc::invalid_argument) << name.printable();
    EXPECT_EQ(code(name.check()), errc::invalid_argument) << name.printable();
  }
  const auto own = s.try_acquire(lock_name("holdfast:a"));
  EXPECT_EQ(code(own), kind().owns_names ? errc::invalid_argument : errc{});
}

TEST_P(store_promises, a_mode_is_respected_or_refused_by_its_name) {
  session s = open();
  for (const auto how : {mode::shared(), mode::permits(2)}) {
    SCOPED_TRACE(how.str());
    const auto tried = s.try_acquire(lock_name(how.str()), how);
    const auto waited = s.acquire(lock_name("waited " + how.str()), {.mode = how, .wait = 1h});
    const auto several = s.acquire_all({lock_name("one of " + how.str())}, {.mode = how});
    auto asked = begin(s, "asked for " + how.str(), {.mode = how});
    ASSERT_TRUE(comes(asked));
    if (kind().has_queue) {
      EXPECT_TRUE(succeeded(tried));
      EXPECT_EQ(tried->mode(), how);
      EXPECT_TRUE(succeeded(waited));
      EXPECT_TRUE(succeeded(several));
      EXPECT_TRUE(succeeded(asked.get()));
      continue;
    }
    ASSERT_EQ(code(tried), errc::unsupported);
    const std::string word = how.is_shared() ? "shared" : "permits";
    EXPECT_THAT(tried.error().message(), HasSubstr(word));
    EXPECT_EQ(code(waited), errc::unsupported);
    EXPECT_EQ(code(several), errc::unsupported);
    EXPECT_EQ(code(asked.get()), errc::unsupported);
    EXPECT_TRUE(list().locks.empty());
    EXPECT_TRUE(succeeded(s.try_acquire(lock_name(how.str()))));
  }
}

TEST_P(queue_promises, holders_share_a_lock_as_its_mode_says) {
  session a = open();
  session b = open();
  session c = open();
  {
    const auto one = a.try_acquire(lock_name("s"), mode::shared());
    const auto two = b.try_acquire(lock_name("s"), mode::shared());
    EXPECT_TRUE(succeeded(one) && succeeded(two));
    EXPECT_EQ(code(c.try_acquire(lock_name("s"))), errc::busy);
    EXPECT_EQ(code(c.try_acquire(lock_name("s"), mode::permits(2))), errc::mode_conflict);
  }
  const auto one = a.try_acquire(lock_name("p"), mode::permits(2));
  const auto two = b.try_acquire(lock_name("p"), mode::permits(2));
  EXPECT_TRUE(succeeded(one) && succeeded(two));
  EXPECT_NE(one->token(), two->token());
  EXPECT_EQ(code(c.try_acquire(lock_name("p"), mode::permits(2))), errc::busy);
  EXPECT_EQ(code(c.acquire(lock_name("p"), {.mode = mode::permits(2), .wait = 10ms})),
            errc::timed_out);
  // At once, whatever the wait.
  EXPECT_EQ(code(c.acquire(lock_name("p"), {.mode = mode::permits(3), .wait = forever})),
            errc::mode_conflict);
  EXPECT_EQ(code(c.acquire(lock_name("p"), {.wait = forever})), errc::mode_conflict);
  EXPECT_EQ(code(c.acquire(lock_name("p"), {.mode = mode::shared(), .wait = forever})),
            errc::mode_conflict);
}

TEST_P(queue_promises, grants_follow_the_order_of_arrival) {
  std::vector<session> all;
  std::vector<std::shared_ptr<listener>> heard;
  for (int i = 0; i < 4; ++i) {
    heard.push_back(std::make_shared<listener>());
    all.push_back(open({.observer = heard.back()}));
  }
  auto reads = all[0].try_acquire(lock_name("a"), mode::shared());
  ASSERT_TRUE(succeeded(reads));
  std::vector<std::future<result<lock>>> waits;
  for (std::size_t i = 1; i < 4; ++i) {
    // The last one could share it, and waits behind who is to write.
    waits.push_back(begin(
        all[i], "a", {.mode = i == 3 ? mode::shared() : mode::exclusive(), .wait = long_enough}));
    EXPECT_TRUE(heard[i]->comes_to_hear("waiting a"));
  }
  token last = reads->token();
  std::optional<lock> held(std::move(*reads));
  for (auto& next : waits) {
    EXPECT_NE(next.wait_for(0s), std::future_status::ready) << "it overtook an older one";
    held.reset();
    ASSERT_TRUE(comes(next));
    auto l = next.get();
    ASSERT_TRUE(succeeded(l));
    EXPECT_GT(l->token(), last);
    last = l->token();
    held.emplace(std::move(*l));
  }
}

TEST_P(store_promises, a_session_has_the_texts_and_the_ttl_that_it_was_given) {
  constexpr auto most = session_options::text_max;
  const std::string longest(most, 'p');
  const duration ttl = 1h - 1ns;
  session s = open({.ttl = ttl, .program = longest, .instance = "\xc3\xa4 b", .label = "\xff"});
  EXPECT_EQ(s.ttl(), ttl);
  EXPECT_EQ(s.url(), url());
  EXPECT_EQ(s.life_descriptor() >= 0, kind().sees_deaths);
  const auto seen = list();
  const auto* const listed = seen.find(s.id());
  ASSERT_NE(listed, nullptr);
  EXPECT_GE(listed->ttl, ttl);
  EXPECT_LE(listed->ttl, 1h) << "in whole milliseconds at most";
  EXPECT_EQ(listed->owner.program, longest);
  EXPECT_EQ(listed->owner.instance, "\xc3\xa4 b");
  EXPECT_EQ(listed->owner.label, "\xff") << "no text of a code that it need be";
  const std::string too_long(most + 1, 'p');
  const duration shortest = kind().has_servers ? 20s : 100ms;
  const std::vector<session_options> wrong{
      {.program = too_long}, {.instance = too_long}, {.label = too_long}, {.program = "a\nb"},
      {.instance = "\x7f"},  {.label = "\x1b[2J"},   {.ttl = 0s},         {.ttl = -1s},
      {.ttl = 99ms},         {.ttl = 1h + 1ns},      {.ttl = forever},    {.ttl = 1ms}};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_EQ(code(holdfast::open(url(), wrong[i])), errc::invalid_argument) << i;
  }
  EXPECT_TRUE(holdfast::open(url(), {.ttl = shortest}));
  EXPECT_EQ(list().sessions.size(), 1U) << "what was refused left no record";
}

}  // namespace
}  // namespace holdfast::promises
