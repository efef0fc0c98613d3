#include "tests/engine/conformance.hpp"

#include <algorithm>

/// Every name that is allowed must work, and none may be taken for another.

namespace holdfast::conformance {
namespace {

using core::status;

class engine_names : public engine_test {};
INSTANTIATE_TEST_SUITE_P(on, engine_names, testing::ValuesIn(built_engines()), kind_name);

std::vector<std::string> hard_names() {
  std::vector<std::string> names;
  std::string every_byte;
  for (int c = 0x20; c < 0x100; ++c) {
    if (c == 0x7f) continue;
    names.push_back(std::string(1, static_cast<char>(c)));
    every_byte += static_cast<char>(c);
  }
  names.push_back(every_byte);
  names.push_back(std::string(lock_name::bytes_max, 'x'));
  names.push_back(std::string(lock_name::bytes_max - 1, 'x'));
  names.push_back(std::string(lock_name::bytes_max, '\xff'));
  // The same first 511 bytes, which is more than an LMDB key may have.
  names.push_back(std::string(lock_name::bytes_max - 1, 'x') + "y");
  names.push_back(std::string(lock_name::bytes_max - 1, 'x') + "z");
  for (const char* n : {"ab", "a/b", "a/", "/", "//", "..", "../..", "a b", "A", "aa", "%00", "*",
                        "{x}", "\xc3\xa4", "a\xcc\x88"}) {
    names.push_back(n);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

TEST_P(engine_names, every_allowed_byte_and_length_is_a_name_of_its_own) {
  auto m = join(), other = join();
  const auto names = hard_names();
  std::vector<token> orders;
  for (const auto& n : names) {
    ASSERT_TRUE(lock_name(n).check()) << lock_name(n).printable();
    const auto v = m.enqueue(n);
    ASSERT_EQ(v.what, status::ok) << lock_name(n).printable() << ' ' << v.text;
    orders.push_back(v.mine);
  }
  const auto all = ask().list();
  ASSERT_EQ(all.locks.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto* l = find_lock(all, names[i]);
    ASSERT_NE(l, nullptr) << lock_name(names[i]).printable();
    ASSERT_EQ(l->entries.size(), 1U);
    EXPECT_EQ(l->entries[0].order, orders[i]);
    EXPECT_EQ(other.attempt(names[i]).what, status::busy);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(m.leave(names[i], orders[i]).what, status::ok);
    const auto v = other.attempt(names[i]);
    EXPECT_EQ(v.what, status::ok) << lock_name(names[i]).printable();
  }
}

TEST_P(engine_names, a_name_that_begins_another_is_a_neighbour_only) {
  auto m = join(), other = join();
  const auto longer = m.enqueue("aa");
  const auto shorter = m.enqueue("a");
  const auto v = other.enqueue("a");
  EXPECT_EQ(orders_of(v.ahead), std::vector<token>{shorter.mine});
  m.leave("a", shorter.mine);
  EXPECT_EQ(other.confirm("a", v.mine).what, status::ok);
  EXPECT_EQ(m.confirm("aa", longer.mine).what, status::ok);
}

}  // namespace
}  // namespace holdfast::conformance
