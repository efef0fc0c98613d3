#include "core/sanitizer.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

namespace holdfast::redlock_tests {

namespace {

/// So many sockets this process has.
int sockets() {
  int all = 0;
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto what = std::filesystem::read_symlink(descriptor.path(), gone).string();
    all += what.starts_with("socket:") ? 1 : 0;
  }
  return all;
}

/// Fault matrix: the last store of a process is closed, again and again | its sockets are closed
/// when that returns
TEST(redlock_closing, a_store_that_is_gone_has_no_sockets) {
  five_nodes nodes;
  nodes.init();
  const int before = sockets();
  for (int round = 0; round < 40; ++round) {
    {
      store st = store::open(nodes.url()).value();
      session s = st.open_session({}).value();
      ASSERT_TRUE(s.try_acquire(lock_name("a")));
      if (round % 2 == 0) (void)s.close();
    }
    ASSERT_EQ(sockets(), before) << "after " << round << " others";
  }
}

/// Fault matrix: a forked child destroys the session and the lock that it inherited | it waits for
/// no thread, which is its parent's, and its parent holds the lock as before
TEST(redlock_closing, waits_for_nothing_in_a_forked_child) {
  five_nodes nodes(3);
  nodes.init();
  auto s = std::make_optional(nodes.open());
  auto held = std::make_optional(s->try_acquire(lock_name("a")).value());
  ASSERT_TRUE(nodes.comes_to("a", 3));
  const int how = process::in_a_fork([&] {
    ::alarm(20);
    held.reset();
    s.reset();
    return 0;
  });
  EXPECT_EQ(how, 0);
  EXPECT_TRUE(succeeded(held->check()));
  EXPECT_EQ(nodes.count("a"), 3U);
}

#if !HOLDFAST_UNDER_TSAN  // It does not support new threads in a forked child.
// Constructed before the library has a thread, and so destroyed behind the end of all of them.
std::optional<store> until_the_end;

/// Fault matrix: a program ends with a store that outlives the library's threads | it ends
TEST(redlock_closing, at_the_end_of_the_program_waits_for_no_thread_that_has_ended) {
  five_nodes nodes(3);
  nodes.init();
  const int how = process::in_a_fork([&]() -> int {
    ::alarm(20);
    until_the_end.emplace(store::open(nodes.url()).value());
    std::exit(succeeded(until_the_end->open_session({}).value().close()) ? 0 : 2);
  });
  EXPECT_EQ(how, 0);
}
#endif

}  // namespace

}  // namespace holdfast::redlock_tests
