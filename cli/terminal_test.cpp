#include "cli/terminal.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <chrono>
#include <future>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

TEST(never_waiting, returns_from_a_write_to_a_terminal_that_was_stopped) {
  const descriptor master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(master);
  ASSERT_EQ(::grantpt(master.get()), 0);
  ASSERT_EQ(::unlockpt(master.get()), 0);
  const descriptor shared(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(shared);
  const descriptor screen = never_waiting(shared.get());
  ASSERT_TRUE(screen);
  ASSERT_EQ(::tcflow(shared.get(), TCOOFF), 0);
  auto written = std::async(std::launch::async, [&] { return ::write(screen.get(), "line", 4); });
  const bool returns = written.wait_for(20s) == std::future_status::ready;
  EXPECT_TRUE(returns) << "it waits until the terminal goes on";
  ::tcflow(shared.get(), TCOON);
  if (returns) {
    EXPECT_EQ(written.get(), -1);
  }
  EXPECT_EQ(::write(screen.get(), "line", 4), 4);
  EXPECT_EQ(::fcntl(shared.get(), F_GETFL) & O_NONBLOCK, 0) << "others share it";
}

TEST(never_waiting, is_empty_of_what_cannot_be_opened) { EXPECT_FALSE(never_waiting(-1)); }

}  // namespace
}  // namespace holdfast::cli
