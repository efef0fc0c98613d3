#include "core/flat_table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <random>

namespace holdfast::core {
namespace {

struct thing {
  std::uint64_t name{};
};

thing* find(const flat_table<thing>& in, std::uint64_t name, std::uint64_t hash) {
  return in.find(hash, [&](const thing& t) { return t.name == name; });
}

TEST(flat_table, has_nothing_at_first) {
  const flat_table<thing> all;
  EXPECT_TRUE(all.empty());
  EXPECT_EQ(find(all, 1, 1), nullptr);
}

TEST(flat_table, tells_things_of_one_hash_apart) {
  flat_table<thing> all;
  thing one{1};
  thing two{2};
  all.insert(7, one);
  all.insert(7, two);
  EXPECT_EQ(find(all, 1, 7), &one);
  EXPECT_EQ(find(all, 2, 7), &two);
  all.erase(7, one);
  EXPECT_EQ(find(all, 1, 7), nullptr);
  EXPECT_EQ(find(all, 2, 7), &two);
}

TEST(flat_table, of_one_that_is_not_there_erases_nothing) {
  flat_table<thing> all;
  thing one{1};
  const thing other{1};
  all.insert(7, one);
  EXPECT_DEATH(all.erase(7, other), "");
}

/// Few hashes make long runs, which wrap around the end of the table.
TEST(flat_table, does_as_a_plain_map_whatever_the_order) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t hashes = 1 + random() % 40;
    const std::uint64_t names = 1 + random() % 200;
    std::deque<thing> things;
    for (std::uint64_t n = 0; n < names; ++n) things.push_back({n});
    const auto hash_of = [&](std::uint64_t name) { return name % hashes * 0x1234'5678'9abc'def1U; };
    flat_table<thing> all;
    std::map<std::uint64_t, thing*> plain;
    for (int i = 0; i < 600; ++i) {
      const std::uint64_t name = random() % names;
      thing* const there = find(all, name, hash_of(name));
      ASSERT_EQ(there, plain.contains(name) ? plain[name] : nullptr) << "seed " << seed;
      if (there != nullptr) {
        all.erase(hash_of(name), *there);
        plain.erase(name);
      } else {
        all.insert(hash_of(name), things[name]);
        plain[name] = &things[name];
      }
      ASSERT_EQ(all.size(), plain.size()) << "seed " << seed;
    }
    std::size_t met = 0;
    all.for_each([&](const thing& t) { met += plain.contains(t.name) ? 1U : 0U; });
    EXPECT_EQ(met, plain.size());
    all.clear();
    EXPECT_TRUE(all.empty());
    EXPECT_EQ(find(all, 0, hash_of(0)), nullptr);
  }
}

}  // namespace
}  // namespace holdfast::core
