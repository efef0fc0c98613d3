#include "engines/local/environment.hpp"

#include "engines/local/store_fixture.hpp"
#include "io/file/file_lock.hpp"

#include <fcntl.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast::engines::local {
namespace {

namespace fs = std::filesystem;

/// How many descriptors of this process lead to the file.
int times_open(const std::string& file) {
  int found = 0;
  std::error_code gone;
  for (const auto& e : fs::directory_iterator("/proc/self/fd", gone)) {
    if (fs::read_symlink(e.path(), gone) == file) ++found;
  }
  return found;
}

class local_environment : public store_test {};

TEST_F(local_environment, opening_a_store_that_takes_long_keeps_no_other_one) {
  const std::string slow = root() + "/slow";
  { const auto o = open_at(slow); }
  const io::unique_fd lock(::open((slow + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(*io::try_lock_byte(lock.get(), 0, io::share::alone));  // Somebody is in setup.
  auto other = std::make_optional(open());
  auto opening = std::async(std::launch::async, [&] { return open_at(slow).has_value(); });
  while (times_open(slow + "/lock") < 2) std::this_thread::yield();

  other.reset();
  EXPECT_EQ(caller(open().engine, 1).open().what, core::status::ok);
  EXPECT_NE(opening.wait_for(std::chrono::seconds{0}), std::future_status::ready)
      << "the other one was closed and opened only when this one was through";
  io::unlock_byte(lock.get(), 0);
  EXPECT_TRUE(opening.get());
}

TEST_F(local_environment, threads_that_open_one_store_together_share_it) {
  for (int round = 0; round < 30; ++round) {
    // Each other time it has to be made, and nothing tells beforehand that it is the same.
    if (round % 2 == 0) fs::remove_all(path());
    std::atomic<int> ready{0};
    std::vector<std::future<std::shared_ptr<environment>>> all;
    for (int i = 0; i < 4; ++i) {
      all.push_back(std::async(std::launch::async, [&] {
        ++ready;
        while (ready < 4) std::this_thread::yield();
        auto made = environment::open({path(), {}});
        if (!made) ADD_FAILURE() << made.error().message();
        return made ? *made : nullptr;
      }));
    }
    std::vector<std::shared_ptr<environment>> got;
    for (auto& one : all) got.push_back(one.get());
    for (const auto& one : got) ASSERT_EQ(one, got.front()) << round;
  }
}

TEST_F(local_environment, who_comes_while_a_store_is_closed_gets_it_when_that_is_done) {
  EXPECT_EQ(in_child([&] {
              for (int round = 0; round < 300; ++round) {
                ::alarm(60);  // Who is not told waits for ever.
                auto first = environment::open({path(), {}});
                std::atomic<bool> closes{false};
                auto next = std::async(std::launch::async, [&] {
                  while (!closes) std::this_thread::yield();
                  return environment::open({path(), {}}).has_value();
                });
                closes = true;
                for (std::atomic<int> n = 0; n < round % 100 * 20; ++n) continue;
                first = error(errc::unavailable, "closed");
                if (!next.get()) return 1;
              }
              return 0;
            }),
            0);
}

// Its copy of the locks is its parent's.
TEST_F(local_environment, a_child_that_drops_what_it_inherited_leaves_the_store_in_use) {
  auto o = std::make_optional(open());
  EXPECT_EQ(in_child([&] {
              o.reset();
              return 0;
            }),
            0);
  fs::remove(file("boot"));
  EXPECT_EQ(in_child([&] {
              const auto other = open_at(path());
              return !other && other.error() == errc::damaged ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace holdfast::engines::local
