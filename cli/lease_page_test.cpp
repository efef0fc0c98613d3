#include "cli/lease_page.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

std::string address_of(const lease_memory& m) { return m.address(::getpid()); }

/// The same namespaces, but another path.
std::string address_with(const lease_memory& m, const std::string& path) {
  const std::string own = address_of(m);
  return own.substr(0, own.rfind(':') + 1) + path;
}

session_id some_id(std::uint8_t first) {
  session_id id;
  id.bytes[0] = first;
  return id;
}

TEST(lease_page, a_reader_sees_what_the_wrapper_writes_and_cannot_write) {
  auto mine = lease_memory::create();
  ASSERT_TRUE(mine);
  std::memcpy(mine->page().session, some_id(1).str().c_str(), 33);
  mine->page().kill_at = 5;
  const auto seen = lease_memory::look(address_of(*mine), some_id(1));
  ASSERT_TRUE(seen);
  mine->page().kill_at = 7;
  EXPECT_EQ(seen->page().kill_at, 7);
  EXPECT_EQ(::mmap(nullptr, sizeof(lease_page), PROT_READ | PROT_WRITE, MAP_SHARED, mine->fd(), 0),
            MAP_FAILED);
}

TEST(lease_page, anything_else_in_its_place_means_that_the_run_has_ended) {
  auto mine = lease_memory::create();
  ASSERT_TRUE(mine);
  std::memcpy(mine->page().session, some_id(1).str().c_str(), 33);
  EXPECT_EQ(lease_memory::look(address_of(*mine), some_id(2)).error(), errc::lost);
  EXPECT_EQ(lease_memory::look(address_with(*mine, "/proc/1/fd/99999"), some_id(1)).error(),
            errc::lost);
  EXPECT_EQ(lease_memory::look(address_with(*mine, "/dev/null"), some_id(1)).error(), errc::lost);
  EXPECT_EQ(lease_memory::look(address_with(*mine, "/proc/self/stat"), some_id(1)).error(),
            errc::lost);
}

TEST(lease_page, what_another_namespace_does_not_show_is_not_called_lost) {
  auto mine = lease_memory::create();
  ASSERT_TRUE(mine);
  std::memcpy(mine->page().session, some_id(1).str().c_str(), 33);
  const std::string own = address_of(*mine);
  const std::size_t time_at = own.find(':') + 1;
  const std::size_t path_at = own.rfind(':');
  const std::string other_pid_namespace = "1" + own.substr(time_at - 1);
  EXPECT_TRUE(lease_memory::look(other_pid_namespace, some_id(1)));
  EXPECT_EQ(lease_memory::look(other_pid_namespace, some_id(2)).error(), errc::unavailable);
  EXPECT_EQ(lease_memory::look(other_pid_namespace + "9", some_id(1)).error(), errc::unavailable);
  const std::string other_clock = own.substr(0, time_at) + "1" + own.substr(path_at);
  EXPECT_EQ(lease_memory::look(other_clock, some_id(1)).error(), errc::unavailable);
  EXPECT_EQ(lease_memory::look("nonsense", some_id(1)).error(), errc::unavailable);
}

TEST(deadlines, sigterm_comes_a_grace_before_sigkill_and_that_before_the_end) {
  const time_point end{100s};
  const deadlines d = deadlines_of(end, 30s, 5s);
  EXPECT_EQ(end - d.kill_at, 600ms);
  EXPECT_EQ(d.kill_at - d.term_at, 5s);
  EXPECT_EQ(kill_distance(1s), 50ms);
  EXPECT_EQ(kill_distance(100ms), 10ms);
}

TEST(deadlines, the_longest_grace_leaves_a_late_heartbeat_in_time) {
  for (const duration ttl : {duration(100ms), duration(1s), duration(30s), duration(1h)}) {
    EXPECT_LE(grace_default(ttl), grace_limit(ttl));
    // A beat is due a third of the ttl after the last one was sent.
    EXPECT_LT(grace_limit(ttl) + kill_distance(ttl), ttl * 2 / 3) << ttl.count();
  }
}

}  // namespace
}  // namespace holdfast::cli
