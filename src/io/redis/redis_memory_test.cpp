#include "io/net/peer_fixture.hpp"
#include "io/redis/redis_client_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {

// Of this whole program.
thread_local bool is_used_up = false;

}  // namespace

void* operator new(std::size_t size) {
  if (void* made = is_used_up ? nullptr : std::malloc(size)) return made;
  throw std::bad_alloc();
}
void operator delete(void* old) noexcept { std::free(old); }
void operator delete(void* old, std::size_t) noexcept { std::free(old); }

namespace holdfast::io {
namespace {

/// One answer more or less than commands, and each lock that is granted is that of another name.
void send_without_memory() {
  peer server([](const peer::client& c, int) {
    if (c.greet()) c.read();
  });
  redis_client client(server.address());
  client.events->wait_up(1);
  const std::string bytes = bytes_of("SET", "a", std::string(100, 'x'));
  is_used_up = true;
  try {
    (void)client.send(1, bytes).has_value();
  } catch (const std::bad_alloc&) {
  }
  is_used_up = false;
}

TEST(redis_memory, that_ends_while_a_command_is_sent_ends_the_process) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(send_without_memory(), "");
}

}  // namespace
}  // namespace holdfast::io
