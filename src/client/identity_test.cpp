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

TEST(StoreIdentity, StaysWhenALocalStoreIsOpenedAgainOrMoved) {
  const tests::temporary_directory at;
  const auto first = of("local:" + at.path() + "/a");
  EXPECT_EQ(of("local:" + at.path() + "/a"), first);
  EXPECT_EQ(of("local:" + at.path() + "//a/"), first);
  std::filesystem::rename(at.path() + "/a", at.path() + "/b");
  EXPECT_EQ(of("local:" + at.path() + "/b"), first);
}

// Their tokens grow apart from each other: compared, a stale one of either could pass.
TEST(StoreIdentity, DiffersBetweenTwoStoresAndWhenOneIsMadeAnew) {
  const tests::temporary_directory at;
  const auto first = of("local:" + at.path() + "/a");
  EXPECT_NE(of("local:" + at.path() + "/b"), first);
  std::filesystem::remove_all(at.path() + "/a");
  EXPECT_NE(of("local:" + at.path() + "/a"), first);
  EXPECT_NE(of("memory:one"), of("memory:two"));
}

TEST(StoreIdentity, OfALocalStoreIsNotGuessedWhenItsFileIsDamaged) {
  const tests::temporary_directory at;
  const std::string url = "local:" + at.path() + "/a";
  static_cast<void>(of(url));
  std::ofstream(at.path() + "/a/identity") << "0123";
  const auto again = store::open(url);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), errc::damaged);
  EXPECT_NE(again.error().message().find("/a/identity"), std::string::npos);
}

TEST(FencingTokenOfALock, NamesItsTokenItsLockAndItsStore) {
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
