// Write to storage only through a fence, so that a holder that was replaced is refused.
//
//   example_fence [STORE]     for instance: example_fence local:/tmp/store

#include <holdfast/fence.hpp>
#include <holdfast/guarded.hpp>
#include <holdfast/session.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

using namespace std::chrono_literals;

/// The storage of this example: rows in memory, and their fence beside them.
struct table {
  std::string rows;
  holdfast::fence fence;

  // [enter]
  holdfast::result<void> append(const holdfast::fencing_token& token, std::string_view row) {
    // stale_token: a newer holder has been here, and nothing may be written any more.
    const auto pass = fence.enter(token);
    if (!pass) return pass.error();
    rows += row;  // The pass covers the whole write: a newer holder waits until it has ended.
    return {};
  }
  // [/enter]
};

int fail(const holdfast::error& why) {
  std::fprintf(stderr, "%s\n", why.message().c_str());
  return 1;
}

int main(int argc, char** argv) {
  auto session = holdfast::open(argc > 1 ? argv[1] : "local:");
  if (!session) return fail(session.error());
  auto lock = session->acquire(holdfast::lock_name("table"), {.wait = 10s});
  if (!lock) return fail(lock.error());

  table data;
  // [fenced_write]
  holdfast::fenced_write append([&](const holdfast::fencing_token& token, std::string_view row) {
    return data.append(token, row);
  });
  // Nothing is run unless at least 200 ms of the lease are left.
  if (auto done = append(*lock, 200ms, "a row\n"); !done) return fail(done.error());
  // [/fenced_write]
  std::printf("%s", data.rows.c_str());
  return std::move(*lock).release() ? 0 : 1;
}
