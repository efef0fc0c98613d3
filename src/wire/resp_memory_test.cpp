#include "wire/resp_stream_fixture.hpp"
#include "wire/resp_writer.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {

// Of this whole program; the tests below run in one thread.
std::size_t allocations = 0;
std::size_t allocated_bytes = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  allocated_bytes += size;
  if (void* made = std::malloc(size)) return made;
  throw std::bad_alloc();
}
void operator delete(void* old) noexcept { std::free(old); }
void operator delete(void* old, std::size_t) noexcept { std::free(old); }

namespace holdfast::wire {
namespace {

std::string times(std::size_t count, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

/// What a new reader allocates for these bytes.
std::size_t bytes_for(std::string_view bytes, const resp_limits& limits = {}) {
  resp_reader reader(limits);
  const std::size_t before = allocated_bytes;
  reader.feed(bytes);
  while (reader.next() != nullptr) {
  }
  EXPECT_EQ(reader.failure(), nullptr);
  return allocated_bytes - before;
}

TEST(resp_memory, an_announced_length_allocates_nothing_by_itself) {
  const resp_limits large{.bulk_bytes = 1U << 30U,
                          .dropped_bytes = 1U << 30U,
                          .elements = 1U << 30U,
                          .message_bytes = std::size_t{1} << 33U};
  EXPECT_LT(bytes_for("$1073741824\r\n", large), 1024u);
  EXPECT_LT(bytes_for("!1073741824\r\nabc", large), 1024u);
  EXPECT_LT(bytes_for("*1073741824\r\n", large), 4096u);
  EXPECT_LT(bytes_for("%536870912\r\n:1\r\n", large), 4096u);
  EXPECT_LT(bytes_for(times(16, "*1000000\r\n"), large), 16 * 4096u);
}

TEST(resp_memory, a_string_that_is_dropped_takes_no_memory) {
  resp_reader reader;
  reader.feed("$100000000\r\n");
  const std::string part(1000, 'x');
  reader.feed(part);
  EXPECT_EQ(reader.next(), nullptr);
  const std::size_t before = allocated_bytes;
  for (int i = 1; i < 100'000; ++i) {
    reader.feed(part);
    ASSERT_EQ(reader.next(), nullptr);
  }
  EXPECT_EQ(allocated_bytes, before);
  reader.feed("\r\n");
  const reply* const whole = reader.next();
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(whole->integer, 100'000'000);
}

TEST(resp_memory, the_replies_of_a_pipeline_allocate_nothing) {
  const std::string pipeline = times(256, "+OK\r\n$-1\r\n:1\r\n*3\r\n:5\r\n:1\r\n:30000\r\n");
  resp_reader reader;
  reader.feed(pipeline);
  while (reader.next() != nullptr) {
  }
  const std::size_t before = allocations;
  std::size_t read = 0;
  reader.feed(pipeline);
  while (reader.next() != nullptr) ++read;
  EXPECT_EQ(read, 1024u);
  EXPECT_EQ(allocations, before);
}

TEST(resp_memory, a_large_message_is_given_back_with_the_next_one) {
  resp_reader reader;
  reader.feed("*60000\r\n" + times(60'000, ":1\r\n") + ":1\r\n");
  reply* large = reader.next();
  ASSERT_NE(large, nullptr);
  ASSERT_EQ(large->elements.size(), 60'000u);
  reply* small = reader.next();
  ASSERT_NE(small, nullptr);
  EXPECT_LT(small->elements.capacity(), 1000u);
}

TEST(resp_memory, a_long_string_is_given_back_with_the_next_message) {
  resp_reader reader;
  reader.feed("$100000\r\n" + times(100'000, "x") + "\r\n:1\r\n");
  const reply* const large = reader.next();
  ASSERT_NE(large, nullptr);
  ASSERT_EQ(large->text.size(), 100'000u);
  const reply* const small = reader.next();
  ASSERT_NE(small, nullptr);
  EXPECT_LT(small->text.capacity(), 50'000u);
}

TEST(resp_memory, input_that_always_ends_inside_of_a_message_takes_no_more_memory) {
  const std::string part = "1\r\n" + times(99, ":1\r\n") + ":";
  resp_reader reader;
  reader.feed(":");
  std::size_t before = 0;
  for (int i = 0; i < 1000; ++i) {
    if (i == 10) before = allocated_bytes;
    reader.feed(part);
    while (reader.next() != nullptr) {
    }
  }
  EXPECT_EQ(allocated_bytes, before);
}

TEST(resp_memory, a_command_allocates_only_what_the_buffer_grows_by) {
  std::string out;
  out.reserve(4096);
  const std::string key(100, 'k');
  const std::size_t before = allocations;
  resp_writer(out).command("SET", key, "value of some length", "NX", "PX", 30'000);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace holdfast::wire
