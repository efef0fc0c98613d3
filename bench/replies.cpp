#include "wire/resp_reader.hpp"
#include "wire/resp_writer.hpp"

#include <benchmark/benchmark.h>
#include <hiredis/hiredis.h>

#include <cstdlib>
#include <string>

/// What 1,024 callers of one connection get in one turn of the loop, read by this library and by
/// hiredis: the ratio of the two is the number to look at.

namespace holdfast::bench {
namespace {

constexpr int replies = 1024;

std::string pipeline_of(std::string_view one) {
  std::string all;
  for (int i = 0; i < replies; ++i) all += one;
  return all;
}

/// Granted, taken, released, and a script's answer, in turns.
std::string mixed() {
  const std::string_view kinds[] = {"+OK\r\n", "$-1\r\n", ":1\r\n",
                                    "*3\r\n:1\r\n:1700000000123456\r\n:30000\r\n"};
  std::string all;
  for (int i = 0; i < replies; ++i) all += kinds[i % 4];
  return all;
}

void read_replies(benchmark::State& state, const std::string& bytes) {
  wire::resp_reader reader;
  for (auto _ : state) {
    reader.feed(bytes);
    int read = 0;
    while (const wire::reply* r = reader.next()) {
      benchmark::DoNotOptimize(r->integer);
      ++read;
    }
    if (read != replies) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * replies);
}
BENCHMARK_CAPTURE(read_replies, status, pipeline_of("+OK\r\n"));
BENCHMARK_CAPTURE(read_replies, integer, pipeline_of(":1\r\n"));
BENCHMARK_CAPTURE(read_replies, mixed, mixed());

void read_replies_with_hiredis(benchmark::State& state, const std::string& bytes) {
  redisReader* reader = redisReaderCreate();
  for (auto _ : state) {
    redisReaderFeed(reader, bytes.data(), bytes.size());
    int read = 0;
    for (void* r = nullptr; redisReaderGetReply(reader, &r) == REDIS_OK && r != nullptr; ++read) {
      benchmark::DoNotOptimize(static_cast<redisReply*>(r)->integer);
      freeReplyObject(r);
    }
    if (read != replies) std::abort();
  }
  redisReaderFree(reader);
  state.SetItemsProcessed(state.iterations() * replies);
}
BENCHMARK_CAPTURE(read_replies_with_hiredis, status, pipeline_of("+OK\r\n"));
BENCHMARK_CAPTURE(read_replies_with_hiredis, integer, pipeline_of(":1\r\n"));
BENCHMARK_CAPTURE(read_replies_with_hiredis, mixed, mixed());

void write_commands(benchmark::State& state) {
  const std::string key = "a lock", value(40, 'f');
  std::string out;
  for (auto _ : state) {
    out.clear();
    wire::resp_writer to(out);
    for (int i = 0; i < replies; ++i) to.command("SET", key, value, "NX", "PX", 30'000);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * replies);
}
BENCHMARK(write_commands);

}  // namespace
}  // namespace holdfast::bench
