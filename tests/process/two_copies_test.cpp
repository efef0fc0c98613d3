#include "tests/process/child.hpp"
#include "tests/temporary_directory.hpp"

#include <holdfast/session.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <thread>

/// Two copies of the library in one process: the program's, and that of a plug-in.

namespace holdfast::process {
namespace {

constexpr int refused = static_cast<int>(errc::invalid_argument);

class two_copies : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(plug_in_, nullptr) << ::dlerror();
    plug_in_open_ = reinterpret_cast<open_function>(::dlsym(plug_in_, "second_copy_open"));
    plug_in_close_ = reinterpret_cast<close_function>(::dlsym(plug_in_, "second_copy_close"));
    ASSERT_TRUE(plug_in_open_ != nullptr && plug_in_close_ != nullptr);
  }
  void TearDown() override {
    if (plug_in_close_ != nullptr) plug_in_close_();
  }

  int open_in_program() {
    auto made = holdfast::open(url());
    if (!made) {
      why_ = made.error().message();
      return static_cast<int>(made.error().code());
    }
    own_.emplace(std::move(*made));
    return 0;
  }
  void close_in_program() { own_.reset(); }
  int open_in_plug_in() {
    std::array<char, 1024> why{};
    const int code = plug_in_open_(url().c_str(), why.data(), why.size());
    if (code != 0) why_ = why.data();
    return code;
  }
  void close_in_plug_in() { plug_in_close_(); }

  /// As another process sees it: the record lock on the first byte of `slots`.
  bool slot_is_held() const {
    return in_a_fork([&] {
             const int fd = ::open((path() + "/slots").c_str(), O_RDWR | O_CLOEXEC);
             struct flock lock {};
             lock.l_type = F_WRLCK;
             lock.l_len = 1;
             return fd >= 0 && ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 1 : 0;
           }) == 1;
  }

  std::string path() const { return directory_.path() + "/store"; }
  std::string url() const { return "local:" + path(); }
  const std::string& why() const { return why_; }
  session& own() { return *own_; }

 private:
  using open_function = int (*)(const char*, char*, std::size_t);
  using close_function = void (*)();

  tests::temporary_directory directory_;
  void* plug_in_ = ::dlopen(SECOND_COPY, RTLD_NOW | RTLD_LOCAL);
  open_function plug_in_open_{};
  close_function plug_in_close_{};
  std::optional<session> own_;
  std::string why_;
};

TEST_F(two_copies, the_second_is_refused_and_the_first_keeps_its_slot) {
  ASSERT_EQ(open_in_program(), 0);
  auto held = own().try_acquire(lock_name("x"));
  ASSERT_TRUE(held);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(open_in_plug_in(), refused);
  EXPECT_NE(why().find("another copy of holdfast in this process has " + path()), std::string::npos)
      << why();
  EXPECT_TRUE(slot_is_held());
  EXPECT_TRUE(held->check());
  EXPECT_TRUE(std::move(*held).release());
}

TEST_F(two_copies, one_gets_what_the_other_has_closed) {
  ASSERT_EQ(open_in_program(), 0);
  close_in_program();
  ASSERT_TRUE(eventually([&] { return open_in_plug_in() == 0; })) << why();
  EXPECT_EQ(open_in_program(), refused);
  EXPECT_TRUE(slot_is_held());
  close_in_plug_in();
  EXPECT_TRUE(eventually([&] { return open_in_program() == 0; })) << why();
}

TEST_F(two_copies, a_forked_child_may_use_either_whatever_its_parent_has_open) {
  ASSERT_EQ(open_in_program(), 0);
  EXPECT_EQ(in_a_fork([&] { return open_in_program(); }), 0);
  EXPECT_EQ(in_a_fork([&] { return open_in_plug_in(); }), 0);
  EXPECT_EQ(in_a_fork([&] {
              if (open_in_plug_in() != 0) return 1;
              return open_in_program() == refused ? 0 : 2;
            }),
            0);
  EXPECT_TRUE(slot_is_held());
}

TEST_F(two_copies, a_child_that_lives_on_does_not_keep_its_parent_from_opening_again) {
  ASSERT_EQ(open_in_program(), 0);
  const pid_t lives_on = ::fork();
  if (lives_on == 0) {
    for (;;) ::pause();
  }
  close_in_program();
  EXPECT_TRUE(eventually([&] { return open_in_plug_in() == 0; })) << why();
  ::kill(lives_on, SIGKILL);
  ::waitpid(lives_on, nullptr, 0);
}

TEST_F(two_copies, of_two_at_the_same_moment_one_is_refused) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> ready{0};
    const auto together = [&] {
      ++ready;
      while (ready < 2) {
      }
    };
    int plug_in = 0;
    std::thread beside([&] {
      together();
      plug_in = open_in_plug_in();
    });
    together();
    auto made = holdfast::open(url());
    beside.join();
    EXPECT_EQ(made.has_value(), plug_in == refused) << round << " " << why();
    EXPECT_TRUE(slot_is_held());
    close_in_plug_in();
  }
}

}  // namespace
}  // namespace holdfast::process
