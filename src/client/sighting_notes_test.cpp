#include "client/sighting_notes.hpp"

#include "client/engines_fixture.hpp"
#include "client/outcome_fixture.hpp"
#include "client/session_core.hpp"
#include "io/file/file_lock.hpp"
#include "io/file/state_directory.hpp"
#include "io/file/unique_fd.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/random.hpp"
#include "tests/temporary_directory.hpp"

#include <holdfast/session.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::client {
namespace {

using namespace std::chrono_literals;
using testing::code;
using testing::eventually;

core::rival somebody() {
  core::rival r;
  r.owner = io::random_session_id();
  r.ttl = 30s;
  return r;
}

core::sightings sight_of(const core::rival& r, time_point since = clock::now() - 1min) {
  core::sightings seen;
  seen.note(r.owner, r.at, r.ttl, since);
  return seen;
}

// As many sessions as a program has met, each of them once.
TEST(sighting_notes, without_a_file_are_bounded_to_the_newest) {
  sighting_notes notes(std::nullopt);
  std::vector<core::rival> all;
  const auto began = clock::now() - 1h;
  for (int n = 0; n < 5'000; ++n) {
    all.push_back(somebody());
    notes.keep(sight_of(all.back(), began + n * 1ms));
  }
  EXPECT_LE(notes.recall(all).all().size(), 2 * io::sighting_file::sights_max);
  const std::vector<core::rival> newest(all.end() - io::sighting_file::sights_max, all.end());
  EXPECT_EQ(notes.recall(newest).all().size(), io::sighting_file::sights_max);
}

TEST(sighting_notes, of_a_store_are_kept_for_who_opens_it_later_in_this_process) {
  core::rival whom = somebody();
  const auto then = clock::now() - 1min;
  const auto seen = sight_of(whom, then);
  sighting_notes(std::nullopt, "one").keep(seen);

  const auto later = sighting_notes(std::nullopt, "one").recall({whom});
  ASSERT_EQ(later.all().size(), 1U);
  EXPECT_EQ(later.all().begin()->second.since, then);
  EXPECT_TRUE(sighting_notes(std::nullopt, "another").recall({whom}).all().empty());
  sighting_notes(std::nullopt).keep(seen);
  EXPECT_TRUE(sighting_notes(std::nullopt).recall({whom}).all().empty()) << "of no store";
  whom.at.beat += 1;
  EXPECT_TRUE(sighting_notes(std::nullopt, "one").recall({whom}).all().empty()) << "it is alive";
}

/// Notes of a store in this user's state directory, whose writer waits for as long as it must.
class sighting_notes_on_disk : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("XDG_STATE_HOME", state_.path().c_str(), 1);
    // Whoever opens a store in this process first says how patient its writer is.
    file_.emplace(*io::notes_directory(), url_, 1h);
    notes_.emplace(*file_, file_->path());
  }
  void TearDown() override { ::unsetenv("XDG_STATE_HOME"); }
  /// As a disk that hangs: no writing ends before it is let go.
  io::unique_fd hang() const {
    file_->merge({});
    const auto lock = file_->path().substr(0, file_->path().rfind('-')) + ".lock";
    io::unique_fd fd(::open(lock.c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_TRUE(io::try_lock_byte(fd.get(), 0, io::share::alone).value());
    return fd;
  }
  std::shared_ptr<session_core> open() const {
    auto opened = testing::memory(name_);
    EXPECT_EQ(opened.url, url_);
    opened.life_directory = lives_.path();
    opened.loop = loop_;
    return session_core::open(store_core::on(opened, 30s, 1h), {}).value();
  }
  bool has(const session_id& id) const { return file_->read().contains(id); }

  const std::string name_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
  const std::string url_{"memory:" + name_};
  const tests::temporary_directory state_;
  const tests::temporary_directory lives_;
  const std::shared_ptr<io::loop> loop_ = io::loop::start().value();
  std::optional<io::sighting_file> file_;
  std::optional<sighting_notes> notes_;
};

TEST_F(sighting_notes_on_disk, that_hangs_hold_up_no_heartbeat_and_no_other_wait) {
  auto holder = session_core::make_session(open());
  const auto held = holder.try_acquire(lock_name("x"));
  ASSERT_TRUE(held);
  auto waiting = session_core::make_session(open());
  auto disk = hang();
  for (int n = 0; n < 3; ++n) {
    // The engine has no loop of its own: what ends the wait runs where the heartbeats do.
    const auto ended = std::make_shared<std::promise<errc>>();
    waiting.acquire(lock_name("x"), {.wait = 10ms},
                    [ended](const result<lock>& l) { ended->set_value(code(l)); });
    auto end = ended->get_future();
    ASSERT_EQ(end.wait_for(30s), std::future_status::ready) << "the loop waits for the disk";
    EXPECT_EQ(end.get(), errc::timed_out);
  }
  const auto turned = std::make_shared<std::promise<void>>();
  loop_->post([turned] { turned->set_value(); });
  EXPECT_EQ(turned->get_future().wait_for(30s), std::future_status::ready);
  EXPECT_EQ(code(waiting.acquire(lock_name("x"), {.wait = 10ms})), errc::timed_out);
  auto next = session_core::make_session(open());
  EXPECT_EQ(code(next.try_acquire(lock_name("x"))), errc::busy);
  EXPECT_FALSE(has(holder.id())) << "nothing hung";
  disk = io::unique_fd();
  EXPECT_TRUE(eventually([&] { return has(holder.id()); }));
}

TEST_F(sighting_notes_on_disk, are_written_together_by_all_who_keep_some_while_it_hangs) {
  auto disk = hang();
  const io::unique_fd renames(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const auto directory = std::filesystem::path(file_->path()).parent_path();
  ASSERT_GE(::inotify_add_watch(renames.get(), directory.c_str(), IN_MOVED_TO), 0);
  std::vector<core::rival> all;
  for (int n = 0; n < 200; ++n) {
    all.push_back(somebody());
    sighting_notes(*file_, file_->path()).keep(sight_of(all.back()));
  }
  EXPECT_EQ(notes_->recall(all).all().size(), 200U) << "in memory they are at once";
  EXPECT_TRUE(file_->read().empty());
  disk = io::unique_fd();
  EXPECT_TRUE(eventually([&] { return file_->read().size() == 200; }));
  alignas(inotify_event) std::array<char, 64 * 1024> events{};
  const auto size = ::read(renames.get(), events.data(), events.size());
  std::ptrdiff_t seen = 0;
  int times = 0;
  for (; seen < size; ++times) {
    const auto* one = reinterpret_cast<const inotify_event*>(events.data() + seen);
    seen += static_cast<std::ptrdiff_t>(sizeof(inotify_event) + one->len);
  }
  EXPECT_GE(times, 1);
  EXPECT_LE(times, 2);
}

TEST_F(sighting_notes_on_disk, are_read_by_who_opens_the_store) {
  const auto early = somebody();
  const auto late = somebody();
  file_->merge(sight_of(early));  // As another process does.
  const sighting_notes again(*file_, file_->path());
  EXPECT_TRUE(eventually([&] { return !again.recall({early}).all().empty(); }));
  file_->merge(sight_of(late));
  const sighting_notes once_more(*file_, file_->path());
  EXPECT_TRUE(eventually([&] { return !once_more.recall({late}).all().empty(); }));
}

// Else a program that lives for one try would leave none.
TEST_F(sighting_notes_on_disk, are_there_when_a_call_that_blocks_returns) {
  auto holder = session_core::make_session(open());
  const auto held = holder.try_acquire(lock_name("x"));
  ASSERT_TRUE(held);
  auto waiting = session_core::make_session(open());
  notes_->settle();
  const auto disk = std::make_shared<io::unique_fd>(hang());
  const auto began = clock::now();
  loop_->at(began + 50ms, [disk] { *disk = io::unique_fd(); });
  EXPECT_EQ(code(waiting.try_acquire(lock_name("x"))), errc::busy);
  const bool is_there = has(holder.id());
  // A machine that stood still in between.
  EXPECT_TRUE(is_there || clock::now() - began >= sighting_notes::settle_limit);
}

TEST_F(sighting_notes_on_disk, are_there_when_the_store_is_closed) {
  const auto disk = std::make_shared<io::unique_fd>(hang());
  const auto whom = somebody();
  const auto began = clock::now();
  loop_->at(began + 50ms, [disk] { *disk = io::unique_fd(); });
  notes_->keep(sight_of(whom));
  notes_.reset();
  const bool is_there = has(whom.owner);
  EXPECT_TRUE(is_there || clock::now() - began >= sighting_notes::settle_limit);
}

}  // namespace
}  // namespace holdfast::client
