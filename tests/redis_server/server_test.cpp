#include "tests/redis_server/server.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

namespace holdfast::redis_tests {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> set{"SET", "a", "1"};
const std::vector<std::string> get{"GET", "a"};

TEST(redis_server, runs_several_at_once_on_their_own_ports) {
  server one;
  server two;
  one.command(set);
  EXPECT_EQ(one.command(get), text("1"));
  EXPECT_EQ(two.command(get), null());
  EXPECT_NE(one.port(), two.port());
}

TEST(redis_server, comes_back_on_its_port_with_its_data_or_without) {
  server s({.append_only = true, .fsync = "always"});
  const int port = s.port();
  s.command(set);
  s.kill();
  EXPECT_FALSE(s.running());
  s.start();
  EXPECT_EQ(s.command(get), text("1"));
  s.shutdown();
  EXPECT_FALSE(s.running());
  s.start();
  EXPECT_EQ(s.command(get), text("1"));
  s.kill();
  s.start(server::data::wipe);
  EXPECT_EQ(s.command(get), null());
  EXPECT_EQ(s.port(), port);
}

TEST(redis_server, stands_still_while_it_is_stopped) {
  server s;
  connection c = connection::tcp(s.port(), 200ms);
  s.stop();
  EXPECT_EQ(c.command({"PING"}).is, answer::kind::lost);
  s.resume();
  EXPECT_EQ(s.command({"PING"}).text, "PONG");
}

TEST(redis_server, can_be_killed_while_it_is_stopped) {
  server s;
  s.stop();
  s.kill();
  s.start();
  EXPECT_EQ(s.command({"PING"}).text, "PONG");
}

TEST(redis_server, answers_on_a_unix_socket_and_checks_users) {
  server s({.users = "user default on nopass ~* &* +@all\nuser u on >pw ~x +get\n",
            .unix_socket = true});
  EXPECT_EQ(connection::unix_socket(s.socket_path()).command({"PING"}).text, "PONG");
  connection c = s.connect("u", "pw");
  EXPECT_EQ(c.command({"GET", "x"}), null());
  EXPECT_EQ(c.command(get).error_word(), "NOPERM");
  EXPECT_THROW(s.connect("u", "wrong"), std::runtime_error);
}

TEST(redis_server, says_why_it_does_not_start) {
  try {
    server s({.settings = {"--maxmemory-policy", "nonsense"}});
    FAIL() << "it started";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("maxmemory-policy"), std::string::npos) << e.what();
  }
}

TEST(redis_server, leaves_no_process_and_no_file) {
  pid_t pid = 0;
  std::string directory;
  {
    server s;
    pid = s.pid();
    directory = s.directory();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(redis_server, ends_when_the_test_dies) {
  process::adopt_orphans();
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  process::child test = process::child::fork([&] {
    server s;
    const pid_t pid = s.pid();
    if (::write(fds[1], &pid, sizeof pid) != sizeof pid) return 1;
    ::pause();
    return 0;
  });
  pid_t pid = 0;
  ASSERT_EQ(::read(fds[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  test.signal(SIGKILL);
  test.wait();
  EXPECT_TRUE(process::all_gone(10s));
  EXPECT_EQ(::kill(pid, 0), -1);
  ::close(fds[0]);
  ::close(fds[1]);
}

}  // namespace
}  // namespace holdfast::redis_tests
