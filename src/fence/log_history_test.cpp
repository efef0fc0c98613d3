#include "core/rounds_fixture.hpp"
#include "fence/recorder_fixture.hpp"
#include "tests/fence/log_machine.hpp"

#include <holdfast/history.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

/// Threads that take a log from each other and read it: is what they got linearizable? The
/// last record of the log is a fenced register.

namespace holdfast {
namespace {

using history::operation;
using tests::bytes_of;
using tests::log_machine;
using tests::recorder;

void take_and_append(log_machine& m, std::atomic<std::uint64_t>& tokens, recorder& says) {
  const std::uint64_t token = ++tokens;
  std::int64_t begun = says.begin();
  const auto log = m.open(token, {.segment_bytes = 4096});
  says.add(operation::raise, token, begun, log ? "ok" : name_of(log.error().code()));
  for (int i = 0; log && i < 8; ++i) {
    const std::string value = std::to_string(token) + "." + std::to_string(i);
    begun = says.begin();
    const auto done =
        (*log)->append(bytes_of(value), i % 3 == 0 ? survives::power_loss : survives::kill);
    says.add(operation::write, token, begun, done ? "ok" : name_of(done.error().code()), value);
  }
}

void read_last(log_machine& m, recorder& says) {
  const std::int64_t begun = says.begin();
  std::string last;
  auto reader = m.read();
  while (reader) {
    auto got = (*reader)->next();
    if (!got) return;  // A takeover is under way.
    if (!*got) break;
    last = tests::text_of((*got)->bytes);
  }
  if (!last.empty()) says.add(operation::read, 0, begun, "ok", last);
}

TEST(log_history, of_threads_that_take_a_log_from_each_other_is_linearizable) {
  const int games = core::rounds(10, 500);
  for (int game = 0; game < games; ++game) {
    log_machine m(static_cast<std::uint64_t>(game) + 1);
    std::atomic<std::uint64_t> tokens{};
    std::atomic<std::int64_t> clock{};
    std::vector<recorder> says;
    for (int t = 0; t < 5; ++t) says.emplace_back(clock, "t" + std::to_string(t));
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < says.size(); ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 6; ++i) {
          if (t < 3) {
            take_and_append(m, tokens, says[t]);
          } else {
            read_last(m, says[t]);
          }
        }
      });
    }
    for (auto& t : threads) t.join();
    const auto all = tests::together(says);
    const auto judged = history::judge(all, {.as = history::model::fenced_register});
    ASSERT_EQ(judged.size(), 1U);
    EXPECT_EQ(judged[0].found, history::verdict::linearizable) << judged[0].why;
    if (HasFailure()) {
      for (const std::size_t at : judged[0].conflict) std::printf("%s", print(all[at]).c_str());
      return;
    }
  }
}

}  // namespace
}  // namespace holdfast
