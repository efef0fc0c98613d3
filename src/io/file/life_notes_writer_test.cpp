#include "io/file/life_notes_writer.hpp"

#include "io/file/file_lock.hpp"
#include "io/file/unique_fd.hpp"
#include "io/thread/loop.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;
using core::redlock::life_notes;

life_notes notes_of(const std::string& life) {
  life_notes notes;
  notes.recall(life, clock::now() - 1s);
  return notes;
}

/// What the writers told. Theirs, too: one that hangs may tell it after the test has ended.
struct told {
  std::mutex mutex;
  std::vector<life_notes> asked;
  life_notes there;
};

class life_notes_writers : public testing::Test {
 protected:
  std::shared_ptr<life_notes_writer> writer_for(const std::string& directory) {
    return std::make_shared<life_notes_writer>(
        life_notes_file(directory, "redlock://a"), life_notes{}, loop_,
        [to = told_](const life_notes& asked, const life_notes& there) {
          const std::lock_guard hold(to->mutex);
          to->asked.push_back(asked);
          to->there = there;
        });
  }
  /// As a disk that hangs: no writing ends before it is let go.
  unique_fd hang() const {
    const life_notes_file file(directory_.path(), "redlock://a");
    EXPECT_EQ(file.keep(notes_of("first")).trouble, "");
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().extension() != ".lock") continue;
      unique_fd fd(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
      EXPECT_TRUE(try_lock_byte(fd.get(), 0, share::alone).value());
      return fd;
    }
    return {};
  }
  void loop_turns() const {
    std::promise<void> turned;
    loop_->post([&turned] { turned.set_value(); });
    EXPECT_EQ(turned.get_future().wait_for(30s), std::future_status::ready) << "the loop hangs";
  }
  std::vector<life_notes> asked() const {
    const std::lock_guard hold(told_->mutex);
    return told_->asked;
  }
  life_notes there() const {
    const std::lock_guard hold(told_->mutex);
    return told_->there;
  }

  const tests::temporary_directory directory_;
  const std::shared_ptr<told> told_ = std::make_shared<told>();
  const std::shared_ptr<loop> loop_ = loop::start().value();
};

TEST_F(life_notes_writers, tell_when_the_notes_are_there) {
  const auto w = writer_for(directory_.path());
  const auto notes = notes_of("life");
  w->keep(notes);
  w->wait(20s);
  loop_turns();
  EXPECT_EQ(asked(), std::vector{notes});
  EXPECT_EQ(there(), notes);
  EXPECT_EQ(life_notes_file(directory_.path(), "redlock://a").read(), notes);
  EXPECT_FALSE(w->is_busy());
  w->keep(notes);
  EXPECT_FALSE(w->is_busy()) << "they are the same";
}

TEST_F(life_notes_writers, know_what_this_process_saw_though_nothing_can_be_written) {
  const auto notes = notes_of("life");
  writer_for("/dev/null/state")->keep(notes);
  EXPECT_EQ(writer_for("/dev/null/state")->seen_before(), notes);
  EXPECT_TRUE(writer_for(directory_.path())->seen_before().all().empty()) << "another user's";
}

TEST_F(life_notes_writers, hold_up_nobody_while_the_disk_hangs_and_write_the_newest_then) {
  auto disk = hang();
  const auto w = writer_for(directory_.path());
  const auto first = notes_of("n1");
  const auto last = notes_of("n3");
  loop_->post([&] { w->keep(first); });
  loop_turns();
  EXPECT_TRUE(w->is_busy());
  const auto began = clock::now();
  w->wait(100ms);
  EXPECT_GE(clock::now() - began, 100ms);
  loop_->post([&] {
    w->keep(notes_of("n2"));
    w->keep(last);
  });
  loop_turns();
  EXPECT_TRUE(asked().empty());
  EXPECT_TRUE(w->is_busy());
  disk = unique_fd();
  w->wait(20s);
  loop_turns();
  ASSERT_FALSE(asked().empty());
  EXPECT_LE(asked().size(), 2U) << "of those that came meanwhile only the newest";
  EXPECT_EQ(asked().back(), last);
  EXPECT_TRUE(there().all().contains("first")) << "what others wrote";
}

TEST_F(life_notes_writers, are_busy_until_it_has_been_told_what_is_there) {
  std::shared_ptr<life_notes_writer> w;
  bool busy = false;
  w = std::make_shared<life_notes_writer>(
      life_notes_file(directory_.path(), "redlock://a"), life_notes{}, loop_,
      [&](const life_notes&, const life_notes&) { busy = w->is_busy(); });
  w->keep(notes_of("life"));
  w->wait(20s);
  loop_turns();
  EXPECT_TRUE(busy) << "who waits for it would take what is known for all there is";
  EXPECT_FALSE(w->is_busy());
}

TEST_F(life_notes_writers, may_be_gone_before_the_disk_answers) {
  auto disk = hang();
  auto w = writer_for(directory_.path());
  w->keep(notes_of("life"));
  w.reset();
  loop_turns();
  disk = unique_fd();
  // The thread that waits for the disk writes what it was given all the same.
  const life_notes_file file(directory_.path(), "redlock://a");
  const auto end = clock::now() + 20s;
  while (!file.read().all().contains("life") && clock::now() < end) {
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_TRUE(file.read().all().contains("life"));
}

TEST_F(life_notes_writers, tell_why_nothing_is_kept_and_what_is_there) {
  const std::string file = directory_.path() + "/file";
  std::ofstream(file) << "no directory";
  const auto w = writer_for(file);
  w->keep(notes_of("life"));
  w->wait(20s);
  loop_turns();
  EXPECT_EQ(asked().size(), 1U);
  EXPECT_TRUE(there().all().empty());
  EXPECT_NE(w->trouble().find(file), std::string::npos);
}

}  // namespace
}  // namespace holdfast::io
