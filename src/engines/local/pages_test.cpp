#include "core/rounds_fixture.hpp"
#include "engines/local/store_fixture.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace holdfast::engines::local {
namespace {

constexpr std::size_t page = 4096;

/// A store whose file has branches, long free lists and free pages, closed again.
class local_pages : public store_test {
 protected:
  void SetUp() override {
    const auto o = open();
    std::vector<caller> all;
    for (std::uint64_t i = 1; i <= 400; ++i) {
      ASSERT_EQ(all.emplace_back(o.engine, i).open().what, core::status::ok);
      ASSERT_EQ(all.back().enqueue("name" + std::to_string(i % 40), mode::shared()).what,
                core::status::ok);
    }
    // Every other session, and so the whole of every other name.
    for (std::size_t i = 0; i < all.size(); i += 2) {
      ASSERT_EQ(all[i].close().what, core::status::ok);
    }
    entries_ = all.size() / 2;
  }
  std::string data() const { return file("data.mdb"); }

  /// Uses the store in a child of its own: 0 when it was refused as damaged, 1 when it worked,
  /// 128 + n when the child died of it.
  int use() const {
    return in_child([&] {
      auto o = open_at(path());
      if (!o) return o.error() == errc::damaged ? 0 : 2;
      caller c(o->engine, 1000);
      (void)c.list();
      (void)c.open();
      for (int i = 0; i < 50; ++i) {
        const std::string name = "name" + std::to_string(i);
        const auto v = c.enqueue(name);
        (void)c.confirm(name, v.mine);
        (void)c.leave(name, v.mine);
      }
      (void)c.close();
      return 1;
    });
  }

  std::size_t entries_{};
};

TEST_F(local_pages, a_sound_file_is_opened_with_everything_in_it) {
  const auto o = open();
  const auto all = caller(o.engine, 1000).list();
  ASSERT_EQ(all.what, core::status::ok);
  EXPECT_EQ(all.sessions.size(), entries_);
  EXPECT_EQ(all.locks.size(), 20U);
  EXPECT_EQ(use(), 1);
}

TEST_F(local_pages, an_overwritten_page_never_ends_the_process) {
  const std::string good = read(data());
  ASSERT_GE(good.size(), 20 * page);
  std::mt19937 random(7);
  for (std::size_t at = 0; at < good.size(); at += page) {
    for (const bool noise : {true, false}) {
      std::string bad = good;
      for (std::size_t i = at; i < at + page; ++i) bad[i] = noise ? static_cast<char>(random()) : 0;
      write(data(), bad);
      // A page that nothing uses may hold anything.
      EXPECT_LE(use(), 1) << "page " << at / page << (noise ? " noise" : " zeroes");
    }
  }
}

TEST_F(local_pages, a_changed_number_in_a_page_never_ends_the_process) {
  const std::string good = read(data());
  std::mt19937 random(11);
  int refused = 0;
  constexpr int rounds = std::max(core::shortened(250), 60);  // Most change nothing that is used.
  for (int round = 0; round < rounds; ++round) {
    std::string bad = good;
    // Where the numbers are: the heads of pages with their tables of offsets, and the entries.
    const std::size_t at = random() % (good.size() / page) * page;
    const std::size_t where = at + (round % 3 == 0 ? random() % page : random() % 160) / 2 * 2;
    const auto value = static_cast<std::uint16_t>(random());
    std::memcpy(bad.data() + where, &value, sizeof value);
    write(data(), bad);
    const int outcome = use();
    EXPECT_LE(outcome, 1) << "round " << round << ", byte " << where << " := " << value;
    refused += outcome == 0;
  }
  EXPECT_GT(refused, rounds / 12);
}

TEST_F(local_pages, a_file_that_was_cut_is_damaged) {
  const std::string good = read(data());
  for (std::size_t size : {std::size_t{1}, page, 2 * page - 1, good.size() / 2}) {
    write(data(), good.substr(0, size));
    expect_refused(errc::damaged, "it ends after " + std::to_string(size));
    expect_refused(errc::damaged, "remove " + file("boot") + ": what is held is");
  }
}

}  // namespace
}  // namespace holdfast::engines::local
