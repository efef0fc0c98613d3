#include "tests/interop/foreign_client.hpp"
#include "tests/interop/own_clients.hpp"
#include "tests/interop/section_log.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <tuple>
#include <utility>

/// \file
/// Other libraries' clients and ours on the same names, over real servers.

namespace holdfast::interop_tests {

using process::eventually;
using redlock_tests::five_nodes;
using testing::Bool;
using testing::Combine;
using testing::IsEmpty;
using testing::StartsWith;
using testing::Values;
using testing::ValuesIn;

namespace {

using kind = foreign_client::kind;

std::vector<kind> kinds() {
  return {{"redlock_4", "redlock_4.js", 5},
          {"redlock_5", "redlock_5.js", 5},
          {"redis_semaphore_redlock", "redis_semaphore.js", 5, "mutex:"},
          {"redis_semaphore_mutex", "redis_semaphore.js", 1, "mutex:"},
          {"redis_py", "redis_py.py", 1}};
}

class interop : public testing::TestWithParam<std::tuple<kind, bool>> {
 protected:
  void SetUp() override {
    if (const auto why = foreign_client::missing(theirs()); !why.empty()) GTEST_SKIP() << why;
    nodes_.emplace(theirs().nodes);
    if (tokens()) nodes_->init();
  }

  const kind& theirs() const { return std::get<0>(GetParam()); }
  bool tokens() const { return std::get<1>(GetParam()); }
  five_nodes& nodes() { return *nodes_; }
  /// The ttl is far longer than a busy machine stops a process.
  std::string query() const { return tokens() ? "ttl=10s" : "ttl=10s&tokens=off&assume_fresh=yes"; }
  /// What our clients have to call the lock that theirs call so.
  std::string key(const std::string& name) const { return theirs().prefix + name; }
  bool is_everywhere(const std::string& name, const std::string& value) {
    for (std::size_t i = 0; i < nodes().size(); ++i) {
      if (nodes()[i].command({"GET", key(name)}).text != value) return false;
    }
    return true;
  }
  /// Looks at the log until both have held often, and in turns.
  bool both_get_on() {
    const auto times = static_cast<std::size_t>(process::rounds(30, 500));
    const auto enough = [&] {
      std::this_thread::sleep_for(20ms);
      const auto all = log.read();
      return count_of("holdfast", all) >= times && count_of(theirs().called(), all) >= times &&
             handovers("holdfast", all) >= times / 2;
    };
    return eventually(enough, std::chrono::seconds(process::rounds(60, 120)));
  }

  section_log log;

 private:
  std::optional<five_nodes> nodes_;
};

TEST_P(interop, both_contend_for_a_name_never_hold_it_together_and_get_on) {
  foreign_client other(theirs(), "contend", "contended", 10s, nodes(), log);
  own_clients ours(nodes(), query(), key("contended"), log);
  EXPECT_TRUE(both_get_on()) << count_of("holdfast", log.read()) << " of ours, "
                             << count_of(theirs().called(), log.read()) << " of theirs\n"
                             << ours.troubles();
  ours.end();
  other.let_go();
  const std::string summary = other.line();
  EXPECT_THAT(summary, testing::EndsWith(" lost 0"));
  EXPECT_TRUE(other.ends_well());
  EXPECT_EQ(ours.faults(), 0U) << ours.troubles();
  EXPECT_THAT(overlaps(log.read()), IsEmpty());
  EXPECT_TRUE(nodes().comes_to(key("contended"), 0));
}

TEST_P(interop, what_they_hold_is_taken_for_us_and_left_alone) {
  foreign_client other(theirs(), "hold", "a", 60s, nodes(), log);
  const std::string said = other.line();
  ASSERT_THAT(said, StartsWith("held "));
  const std::string value = said.substr(5);
  ASSERT_TRUE(eventually([&] { return is_everywhere("a", value); }));
  const auto left = nodes().longest(key("a"));

  session s = nodes().open(query());
  EXPECT_EQ(s.try_acquire(lock_name(key("a"))).error(), errc::busy);
  EXPECT_EQ(s.acquire(lock_name(key("a")), {.wait = 200ms}).error(), errc::timed_out);
  EXPECT_TRUE(is_everywhere("a", value));
  EXPECT_LE(nodes().longest(key("a")), left);

  auto view = store::open(nodes().url(query()));
  ASSERT_TRUE(view) << view.error().message();
  const auto listing = view->list();
  ASSERT_TRUE(listing) << listing.error().message();
  EXPECT_THAT(listing->locks, IsEmpty());

  other.let_go();
  EXPECT_EQ(other.line(), "released");
  EXPECT_TRUE(other.ends_well());
  const auto l = s.acquire(lock_name(key("a")), {.wait = 20s});
  EXPECT_TRUE(l) << l.error().message();
}

TEST_P(interop, what_we_hold_is_taken_for_them_and_left_alone) {
  session s = nodes().open(query());
  auto l = s.try_acquire(lock_name(key("a")));
  ASSERT_TRUE(l) << l.error().message();
  const std::string value = nodes()[0].command({"GET", key("a")}).text;
  ASSERT_TRUE(eventually([&] { return is_everywhere("a", value); }));

  foreign_client refused(theirs(), "try", "a", 60s, nodes(), log);
  EXPECT_EQ(refused.line(), "refused");
  EXPECT_TRUE(refused.ends_well());
  EXPECT_TRUE(is_everywhere("a", value));
  EXPECT_LE(nodes().longest(key("a")), 10s);
  EXPECT_TRUE(succeeded(l->check()));
  EXPECT_TRUE(succeeded(std::move(*l).release()));
  EXPECT_TRUE(nodes().comes_to(key("a"), 0));

  foreign_client granted(theirs(), "try", "a", 60s, nodes(), log);
  EXPECT_THAT(granted.line(), StartsWith("held "));
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<kind, bool>>& info) {
  const auto& [theirs, tokens] = info.param;
  return theirs.label + (tokens ? "_and_tokens" : "");
}

INSTANTIATE_TEST_SUITE_P(clients, interop, Combine(ValuesIn(kinds()), Bool()), name_of_case);

/// The controls: the witness sees what it is there to see, whatever the clients are written in.
class interop_witness : public interop {};

TEST_P(interop_witness, sees_two_who_hold_together_because_they_use_two_names) {
  foreign_client other(theirs(), "contend", "one", 10s, nodes(), log);
  own_clients ours(nodes(), query(), key("another"), log);
  EXPECT_TRUE(eventually(
      [&] {
        std::this_thread::sleep_for(20ms);
        return !overlaps(log.read()).empty();
      },
      20s));
  ours.end();
  EXPECT_TRUE(other.ends_well());
}

TEST_P(interop_witness, hears_from_a_holder_whose_key_was_taken_away) {
  foreign_client other(theirs(), "hold", "a", 60s, nodes(), log);
  EXPECT_THAT(other.line(), StartsWith("held "));
  nodes().everywhere({"SET", key("a"), "of somebody else"});
  other.let_go();
  EXPECT_EQ(other.line(), "lost");
  EXPECT_TRUE(is_everywhere("a", "of somebody else"));
}

INSTANTIATE_TEST_SUITE_P(clients, interop_witness, Combine(ValuesIn(kinds()), Values(false)),
                         name_of_case);

TEST(interop_listing, of_other_clients_locks_those_with_values_like_ours_are_shown) {
  five_nodes nodes;
  nodes.init();
  nodes.everywhere({"SET", "base64", "q83vEjRWeJCrze8SNFZ4kA==", "PX", "60000"});
  nodes.everywhere({"SET", "uuid", "7b0d3ba6-2f0e-4c8e-9d5b-0c1f6b1f0a11", "PX", "60000"});
  nodes.everywhere({"SET", "hex32", "0123456789abcdef0123456789abcdef", "PX", "60000"});
  nodes.everywhere({"SET", "hex40", "0123456789abcdef0123456789abcdef01234567", "PX", "60000"});
  auto view = store::open(nodes.url());
  ASSERT_TRUE(view) << view.error().message();
  const auto listing = view->list();
  ASSERT_TRUE(listing) << listing.error().message();
  ASSERT_EQ(listing->locks.size(), 1U);
  EXPECT_EQ(listing->locks[0].name.str(), "hex40");
  session s = nodes.open();
  for (const char* name : {"base64", "uuid", "hex32", "hex40"}) {
    EXPECT_EQ(s.try_acquire(lock_name(name)).error(), errc::busy) << name;
  }
}

}  // namespace

}  // namespace holdfast::interop_tests
