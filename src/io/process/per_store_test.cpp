#include "io/process/per_store.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace holdfast::io {
namespace {

constinit per_store<int> numbers;

void put(const std::string& store, int number) {
  numbers.change(store, [number](int& n) { n = number; });
}

TEST(per_store, each_store_has_one) {
  EXPECT_EQ(numbers.get("a"), 0);
  put("a", 1);
  put("b", 2);
  numbers.change("a", [](int& n) { ++n; });
  EXPECT_EQ(numbers.get("a"), 2);
  EXPECT_EQ(numbers.get("b"), 2);
}

TEST(per_store, of_many_the_one_is_forgotten_that_was_changed_longest_ago) {
  for (std::size_t i = 0; i < per_store<int>::stores_max; ++i) put(std::to_string(i), 1);
  put("0", 2);
  put("one more", 1);
  EXPECT_EQ(numbers.get("0"), 2);
  EXPECT_EQ(numbers.get("1"), 0);
  EXPECT_EQ(numbers.get("2"), 1);
  EXPECT_EQ(numbers.get("one more"), 1);
}

TEST(per_store, a_forked_child_begins_with_none) {
  put("forked", 1);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(numbers.get("forked"));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace holdfast::io
