#include "tests/process/child.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

/// With tokens=off, what a disk that hangs may hold up and what not.

namespace holdfast::redlock_tests {
namespace {

constexpr const char* query = "ttl=3s&max_ttl=3s&tokens=off";
/// A lock that has to be kept, on a busy machine too.
constexpr const char* kept = "ttl=5s&max_ttl=5s&tokens=off";

/// While it lives no client can write its notes, as when fsync(2) hangs: their file is locked.
class hanging_disk {
 public:
  explicit hanging_disk(const five_nodes& nodes) {
    const std::string directory = nodes.state() + "/holdfast-state";
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (entry.path().extension() == ".lock")
        fd_ = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    }
    struct flock all {};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    EXPECT_EQ(::fcntl(fd_, F_OFD_SETLKW, &all), 0);
  }
  hanging_disk(const hanging_disk&) = delete;
  hanging_disk& operator=(const hanging_disk&) = delete;
  ~hanging_disk() { ::close(fd_); }

 private:
  int fd_{-1};
};

/// Fault matrix: 1 of 5 nodes restarts while the user's state directory hangs, tokens=off | the
/// locks on the others go on
TEST(redlock_notes, a_lock_survives_a_loss_while_the_state_directory_hangs) {
  five_nodes nodes;
  ASSERT_TRUE(nodes.votes_come_to(5, kept));
  session s = nodes.open(kept);
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_TRUE(nodes.comes_to("a", 5));
  {
    const hanging_disk disk(nodes);
    nodes.restart_empty(0, 1);
    const auto began = clock::now();
    while (clock::now() - began < 7s) {
      ASSERT_TRUE(succeeded(l->check())) << "it is renewed on the four others";
      auto other = s.try_acquire(lock_name("b"));
      ASSERT_TRUE(other) << other.error().message();
      ASSERT_TRUE(succeeded(std::move(*other).release()));
      std::this_thread::sleep_for(100ms);
    }
  }
  EXPECT_TRUE(nodes.votes_come_to(5, kept));
  EXPECT_TRUE(succeeded(l->check()));
}

/// Fault matrix: a node with `appendfsync always` restarts while the user's state directory hangs,
/// tokens=off | it votes when the note of its process is kept
TEST(redlock_notes, a_process_that_is_not_noted_does_not_vote) {
  // An open waits for some node timeouts: none is to end when the notes are given up, after 10 s.
  const std::string brief = std::string(query) + "&node_timeout=100ms";
  five_nodes nodes(1, {.append_only = true, .fsync = "always"});
  ASSERT_TRUE(nodes.votes_come_to(1, brief));
  // Each asks with a session of its own: one without votes ends with its ttl.
  const session keeps_the_connections = nodes.open(brief);
  const auto try_once = [&] {
    auto s = holdfast::open(nodes.url(brief));
    return s ? s->try_acquire(lock_name("a")) : result<lock>(s.error());
  };
  // One sync of a busy disk may take longer than the node timeout.
  ASSERT_TRUE(process::eventually([&] { return try_once().has_value(); }));
  {
    const hanging_disk disk(nodes);
    nodes.restart(0, server::data::keep);
    const auto began = clock::now();
    while (clock::now() - began < 5s) {
      EXPECT_FALSE(try_once().has_value());
      std::this_thread::sleep_for(50ms);
    }
  }
  std::string why;
  EXPECT_TRUE(process::eventually([&] {
    const auto l = try_once();
    why = l ? "" : l.error().message();
    return l.has_value();
  })) << why;
}

}  // namespace
}  // namespace holdfast::redlock_tests
