#include "engines/local/environment.hpp"
#include "engines/local/store_fixture.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>

namespace holdfast::engines::local {
namespace {

using namespace std::chrono_literals;

/// A process that stays inside of a write, which keeps all others out of the store.
class stopped_inside {
 public:
  explicit stopped_inside(const std::string& path) {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto mine = environment::open({path, {}});
      if (!mine) ::_exit(1);
      (void)(*mine)->write([&](transaction&, wake_list&) {
        (void)!::write(ready[1], "y", 1);
        for (;;) ::pause();
      });
    }
    ::close(ready[1]);
    char is_inside = 'n';
    EXPECT_EQ(::read(ready[0], &is_inside, 1), 1);
    ::close(ready[0]);
  }
  stopped_inside(const stopped_inside&) = delete;
  stopped_inside& operator=(const stopped_inside&) = delete;
  ~stopped_inside() {
    ::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_{};
};

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

/// One session holds "a", and another one waits for it.
class local_watches : public store_test {
 protected:
  void SetUp() override {
    const auto engine = open().engine;
    holder_ = std::make_unique<caller>(engine, 1);
    waiter_ = std::make_unique<caller>(engine, 2);
    ASSERT_EQ(holder_->open().what, core::status::ok);
    ASSERT_EQ(waiter_->open().what, core::status::ok);
    held_ = holder_->enqueue("a");
    queued_ = waiter_->enqueue("a");
    ASSERT_EQ(held_.what, core::status::ok);
    ASSERT_EQ(queued_.what, core::status::queued);
  }

  std::unique_ptr<caller> holder_;
  std::unique_ptr<caller> waiter_;
  core::queue_view held_;
  core::queue_view queued_;
};

TEST_F(local_watches, who_waits_is_told_to_look_where_the_store_cannot_be_read) {
  std::atomic<bool> told{false};
  {
    const stopped_inside other(path());
    const auto armed = waiter_->watch("a", queued_, [&] { told = true; });
    for (int i = 0; i < 3'000 && !told; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(told) << "its own look says what is wrong";
  }
  EXPECT_EQ(waiter_->confirm("a", queued_.mine).what, core::status::queued);
}

TEST_F(local_watches, a_child_drops_the_watch_of_which_its_parent_is_being_told) {
  std::atomic<bool> told{false};
  std::atomic<bool> forked{false};
  auto armed = waiter_->watch("a", queued_, [&] {
    told = true;
    told.notify_all();
    forked.wait(false);
  });
  ASSERT_EQ(holder_->leave("a", held_.mine).what, core::status::ok);
  told.wait(false);
  EXPECT_EQ(in_child([&] {
              ::alarm(20);  // There is no thread here that would come back from that call.
              armed.reset();
              return 0;
            }),
            0);
  forked = true;
  forked.notify_all();
}

// Its thread sleeps on a word of the store's memory.
TEST_F(local_watches, a_watch_keeps_no_thread_of_a_store_that_is_closed) {
  std::thread([] {}).join();  // A sanitizer begins one of its own beside the first.
  // The kernel lists one that has ended for a moment longer, also one of a test before.
  auto before = threads();
  for (int same = 0; same < 10; ++same) {
    std::this_thread::sleep_for(50ms);
    const auto now = threads();
    if (now != before) same = -1;
    before = now;
  }
  const auto armed = waiter_->watch("a", queued_, [] {});
  EXPECT_EQ(threads(), before + 1);
  holder_.reset();
  waiter_.reset();
  for (int i = 0; i < 1'000 && threads() > before; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(threads(), before);
}

}  // namespace
}  // namespace holdfast::engines::local
