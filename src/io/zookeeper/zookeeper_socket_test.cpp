#include "io/zookeeper/zookeeper_socket.hpp"

#include "io/file/unique_fd.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace holdfast::io {
namespace {

/// The library's end of a connection, and the server's.
struct connected_pair {
  connected_pair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    mine = unique_fd(ends[0]);
    theirs = unique_fd(ends[1]);
  }
  void say(std::string_view text) const {
    EXPECT_EQ(::write(theirs.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  /// What the library reads next; empty: the end.
  std::string read() const {
    char bytes[16];
    const auto got = ::read(mine.get(), bytes, sizeof bytes);
    return got < 0 ? "nothing" : std::string(bytes, static_cast<std::size_t>(got));
  }
  unique_fd mine;
  unique_fd theirs;
};

class zookeeper_socket_test : public testing::Test {
 protected:
  using stream = zookeeper_socket::stream;

  void await_read() {
    socket.await(stream::wait_read, [this] { ++readings; });
  }
  void run() {
    context.restart();
    context.poll();
  }

  asio::io_context context;
  zookeeper_socket socket{context};
  connected_pair pair;
  int readings{};
};

TEST_F(zookeeper_socket_test, is_another_one_only_when_the_descriptor_leads_elsewhere) {
  EXPECT_FALSE(socket.is_live());
  EXPECT_TRUE(socket.adopt(pair.mine.get()));
  EXPECT_TRUE(socket.is_live());
  EXPECT_FALSE(socket.adopt(pair.mine.get()));
  const connected_pair other;
  ASSERT_GE(::dup2(other.mine.get(), pair.mine.get()), 0) << "the same number, another socket";
  EXPECT_TRUE(socket.adopt(pair.mine.get()));
  EXPECT_TRUE(socket.adopt(-1));
  EXPECT_FALSE(socket.is_live());
}

TEST_F(zookeeper_socket_test, is_closed_on_exec) {
  socket.adopt(pair.mine.get());
  EXPECT_EQ(::fcntl(pair.mine.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(zookeeper_socket_test, tells_once_for_each_time_that_it_is_waited_for) {
  socket.adopt(pair.mine.get());
  await_read();
  await_read();
  run();
  EXPECT_EQ(readings, 0);
  pair.say("x");
  run();
  EXPECT_EQ(readings, 1);
  await_read();
  run();
  EXPECT_EQ(readings, 2);
}

TEST_F(zookeeper_socket_test, tells_nothing_of_a_socket_that_was_left) {
  socket.adopt(pair.mine.get());
  await_read();
  pair.say("x");
  const connected_pair other;
  socket.adopt(other.mine.get());
  run();
  EXPECT_EQ(readings, 0);
  await_read();
  other.say("x");
  run();
  EXPECT_EQ(readings, 1) << "the new one is waited for";
  await_read();
  socket.drop();
  run();
  EXPECT_EQ(readings, 1);
}

TEST_F(zookeeper_socket_test, shows_its_first_word_and_leaves_it_to_the_library) {
  EXPECT_FALSE(socket.first_word());
  socket.adopt(pair.mine.get());
  socket.wait_for(4);
  pair.say(std::string("\0\0\1", 3));
  EXPECT_FALSE(socket.first_word());
  pair.say("\2");
  EXPECT_EQ(socket.first_word(), 0x102U);
  EXPECT_EQ(pair.read(), std::string("\0\0\1\2", 4));
}

TEST_F(zookeeper_socket_test, that_was_cut_off_ends_for_the_library_and_not_for_the_server) {
  socket.adopt(pair.mine.get());
  socket.cut_off();
  EXPECT_EQ(pair.read(), "") << "the end";
  char byte{};
  EXPECT_EQ(::recv(pair.theirs.get(), &byte, 1, MSG_DONTWAIT), -1) << "the duplicate is open";
  socket.drop();
  EXPECT_EQ(::recv(pair.theirs.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST_F(zookeeper_socket_test, does_not_cut_off_what_has_its_number_by_now) {
  socket.adopt(pair.mine.get());
  const connected_pair other;
  ASSERT_GE(::dup2(other.mine.get(), pair.mine.get()), 0);
  other.say("x");
  socket.cut_off();
  EXPECT_EQ(pair.read(), "x");
}

TEST_F(zookeeper_socket_test, that_was_cut_off_is_still_closed_on_exec) {
  socket.adopt(pair.mine.get());
  socket.cut_off();
  EXPECT_EQ(::fcntl(pair.mine.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(zookeeper_socket_test, that_was_dropped_is_not_touched_any_more) {
  // A number that nothing else gets.
  const int number = ::fcntl(pair.mine.get(), F_DUPFD_CLOEXEC, 500);
  ASSERT_GE(number, 0);
  socket.adopt(number);
  socket.drop();
  EXPECT_FALSE(socket.is_live());
  socket.cut_off();
  pair.say("yes");
  EXPECT_EQ(pair.read(), "yes");
  // Nor is its number when the library has closed it.
  ::close(number);
  socket.cut_off();
  EXPECT_EQ(::fcntl(number, F_GETFD), -1) << "nobody has opened it";
}

TEST_F(zookeeper_socket_test, that_is_none_is_left_alone) {
  socket.adopt(-1);
  socket.wait_for(4);
  socket.hold(true);
  socket.cut_off();
  EXPECT_FALSE(socket.first_word());
  await_read();
  run();
  EXPECT_EQ(readings, 0);
}

TEST_F(zookeeper_socket_test, has_the_kernel_collect_what_is_sent_while_it_is_held) {
  const unique_fd tcp(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto collects = [&] {
    int on = -1;
    socklen_t size = sizeof on;
    EXPECT_EQ(::getsockopt(tcp.get(), IPPROTO_TCP, TCP_CORK, &on, &size), 0);
    return on;
  };
  socket.adopt(tcp.get());
  socket.hold(true);
  EXPECT_EQ(collects(), 1);
  socket.hold(false);
  EXPECT_EQ(collects(), 0);
}

}  // namespace
}  // namespace holdfast::io
