#include "tests/redlock/five_nodes.hpp"

#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <filesystem>
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

}  // namespace

}  // namespace holdfast::redlock_tests
