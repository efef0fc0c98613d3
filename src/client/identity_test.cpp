#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast {
namespace {

store_identity of(const std::string& url) { return store::open(url).value().identity().value(); }

TEST(store_identity, stays_when_a_local_store_is_opened_again_or_moved) {
  const tests::temporary_directory at;
  const auto first = of("local:" + at.path() + "/a");
  EXPECT_EQ(of("local:" + at.path() + "/a"), first);
  EXPECT_EQ(of("local:" + at.path() + "//a/"), first);
  std::filesystem::rename(at.path() + "/a", at.path() + "/b");
  EXPECT_EQ(of("local:" + at.path() + "/b"), first);
}

// Their tokens grow apart from each other: compared, a stale one of either could pass.
TEST(store_identity, differs_between_two_stores_and_when_one_is_made_anew) {
  const tests::temporary_directory at;
  const auto first = of("local:" + at.path() + "/a");
  EXPECT_NE(of("local:" + at.path() + "/b"), first);
  std::filesystem::remove_all(at.path() + "/a");
  EXPECT_NE(of("local:" + at.path() + "/a"), first);
  EXPECT_NE(of("memory:one"), of("memory:two"));
}

TEST(store_identity, of_a_local_store_is_not_guessed_when_its_file_is_damaged) {
  const tests::temporary_directory at;
  const std::string url = "local:" + at.path() + "/a";
  static_cast<void>(of(url));
  std::ofstream(at.path() + "/a/identity") << "0123";
  const auto again = store::open(url);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), errc::damaged);
  EXPECT_NE(again.error().message().find("/a/identity"), std::string::npos);
}

TEST(fencing_token_of_a_lock, names_its_token_its_lock_and_its_store) {
  const tests::temporary_directory at;
  const std::string url = "local:" + at.path() + "/a";
  auto s = open(url).value();
  auto held = s.acquire(lock_name("x")).value();
  const auto t = held.fencing_token();
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(t->value, held.token());
  EXPECT_EQ(t->from.lock, held.name());
  EXPECT_EQ(t->from.store, of(url));
  EXPECT_EQ(fencing_token::parse(t->str()).value(), *t);
}

}  // namespace
}  // namespace holdfast
