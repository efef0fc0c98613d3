#include "tests/process/child.hpp"
#include "tests/temporary_directory.hpp"

#include <holdfast/fenced_log.hpp>
#include <holdfast/log_reader.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <csignal>
#include <map>
#include <random>
#include <string>
#include <thread>

/// Writers in processes of their own, killed and stopped in the middle of appends to real files.

namespace holdfast::process {
namespace {

using namespace std::chrono_literals;

/// What the writers say in memory that outlives them: how far each had been acknowledged.
struct witness {
  std::atomic<std::uint64_t> tokens;
  std::atomic<std::uint64_t> stop;
  /// Of the writer with a token: how many of its records were acknowledged, and begun.
  std::array<std::atomic<std::uint64_t>, 4096> acknowledged;
  std::array<std::atomic<std::uint64_t>, 4096> begun;
};

class log_processes : public testing::Test {
 protected:
  log_processes()
      : said_(static_cast<witness*>(::mmap(nullptr, sizeof(witness), PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~log_processes() override { ::munmap(said_, sizeof(witness)); }

  static fencing_token with(std::uint64_t value) {
    return {{store_identity("test"), lock_name("log")}, {value}};
  }

  /// Opens with the next token and appends until it is replaced; again and again, until it is told
  /// to stop.
  int write() const {
    while (said_->stop == 0) {
      const std::uint64_t token = ++said_->tokens;
      if (token >= said_->begun.size()) return 2;
      auto log = fenced_log::open(at(), with(token), {.segment_bytes = 16384});
      if (!log && log.error() == errc::stale_token) continue;
      if (!log) return fail(log.error());
      if (const int code = append_to(*log, token); code != 0) return code;
    }
    return 0;
  }

  std::string at() const { return dir_.path() + "/log"; }
  witness& said() const { return *said_; }

  /// Every acknowledged record once, in the order of its writer; none that nobody began.
  void expect_all() const {
    auto reader = log_reader::open(at());
    ASSERT_TRUE(reader) << reader.error().message();
    std::map<std::uint64_t, std::uint64_t> last;
    std::uint64_t token_before = 0;
    for (std::uint64_t number = 1;; ++number) {
      auto got = reader->next();
      ASSERT_TRUE(got) << got.error().message();
      if (!*got) break;
      EXPECT_EQ((*got)->number.value, number);
      const std::string text(reinterpret_cast<const char*>((*got)->bytes.data()),
                             (*got)->bytes.size());
      const std::uint64_t token = std::stoull(text);
      const std::uint64_t index = std::stoull(text.substr(text.find(':') + 1));
      EXPECT_GE(token, token_before);
      EXPECT_EQ(index, ++last[token]) << text.substr(0, 20);
      token_before = token;
    }
    std::uint64_t sum = 0;
    for (std::uint64_t t = 1; t <= said_->tokens; ++t) {
      EXPECT_GE(last[t], said_->acknowledged[t]) << "token " << t;
      EXPECT_LE(last[t], said_->begun[t]) << "token " << t;
      sum += said_->acknowledged[t];
    }
    EXPECT_GT(sum, 0U);
    RecordProperty("acknowledged", std::to_string(sum));
  }

 private:
  static int fail(const error& why) {
    std::fprintf(stderr, "%s\n", why.message().c_str());
    return 1;
  }

  int append_to(fenced_log& log, std::uint64_t token) const {
    for (std::uint64_t i = 1; said_->stop == 0; ++i) {
      std::string record = std::to_string(token) + ":" + std::to_string(i) + ":";
      record.resize(record.size() + i % 200, 'x');
      said_->begun[token] = i;
      const auto done = log.append(std::as_bytes(std::span(record)),
                                   i % 16 == 0 ? survives::power_loss : survives::kill);
      if (!done && (done.error() == errc::stale_token || done.error() == errc::outcome_unknown)) {
        return 0;
      }
      if (!done) return fail(done.error());
      said_->acknowledged[token] = i;
    }
    return 0;
  }

  tests::temporary_directory dir_;
  witness* said_;
};

TEST_F(log_processes, killed_in_the_middle_of_appends_lose_no_acknowledged_record) {
  std::mt19937_64 random(seed());
  const int total = rounds(40, 1000);
  // On a slow disk all of the others may be killed before they come to an append.
  auto first = child::fork([&] { return write(); });
  ASSERT_TRUE(eventually([&] { return said().acknowledged[1] > 0; }));
  first.end();
  for (int round = 0; round < total; ++round) {
    auto writer = child::fork([&] { return write(); });
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + random() % 15000));
    writer.signal(SIGKILL);
    ASSERT_EQ(writer.wait(), 128 + SIGKILL) << "round " << round;
  }
  // The last one may have died in the middle of taking over, which somebody has to end for readers.
  ASSERT_TRUE(fenced_log::open(at(), with(++said().tokens)));
  expect_all();
}

TEST_F(log_processes, that_replace_each_other_are_one_order) {
  std::mt19937_64 random(seed());
  std::vector<child> writers;
  for (int i = 0; i < 3; ++i) writers.push_back(child::fork([&] { return write(); }));
  const int total = rounds(40, 1000);
  for (int round = 0; round < total && said().tokens < 3000; ++round) {
    auto& one = writers[random() % writers.size()];
    // Stopped anywhere: between its look at the epoch and the write, too.
    one.signal(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    one.signal(SIGCONT);
    if (random() % 4 == 0) {
      one.signal(SIGKILL);
      ASSERT_EQ(one.wait(), 128 + SIGKILL);
      one = child::fork([&] { return write(); });
    }
  }
  said().stop = 1;
  for (auto& w : writers) EXPECT_EQ(w.wait(), 0);
  expect_all();
}

TEST_F(log_processes, a_reader_of_another_process_sees_each_record_once_while_they_write) {
  auto writer = child::fork([&] { return write(); });
  ASSERT_TRUE(eventually([&] { return said().acknowledged[1] > 10; }));
  auto reader = child::fork([&] {
    auto log = log_reader::open(at());
    if (!log) return 1;
    for (std::uint64_t number = 1;;) {
      const bool last_look = said().stop != 0;
      auto got = log->next();
      if (!got && got.error() == errc::unavailable) continue;
      if (!got) return 2;
      if (!*got && last_look) return 0;
      if (*got && (*got)->number.value != number++) return 3;
    }
  });
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(20ms);
    writer.end();
    writer = child::fork([&] { return write(); });
  }
  std::this_thread::sleep_for(20ms);
  said().stop = 1;
  EXPECT_EQ(writer.wait(), 0);
  EXPECT_EQ(reader.wait(), 0);
  expect_all();
}

TEST_F(log_processes, a_forked_child_does_not_write_with_its_parents_log) {
  auto log = fenced_log::open(at(), with(1));
  ASSERT_TRUE(log) << log.error().message();
  auto forked = child::fork([&] {
    const auto refused = log->append({});
    return !refused && refused.error() == errc::lost ? 0 : 1;
  });
  EXPECT_EQ(forked.wait(), 0);
  EXPECT_TRUE(log->append({}));
}

}  // namespace
}  // namespace holdfast::process
