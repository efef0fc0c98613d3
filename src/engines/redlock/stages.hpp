#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::io {
class loop;
}

namespace holdfast::engines::redlock {

/// In this order, so that whoever released a lock hears of it before the next one has it.
enum class stage : std::uint8_t {
  lock_is_free,  ///< Whoever released it hears of it, and may acquire.
  round_ended,   ///< Its owner hears of it, and may release.
  send,          ///< What those asked for is sent, in the order in which they asked.
};

/// Who has work for a stage.
class staged {
 public:
  staged() = default;
  staged(const staged&) = delete;
  staged& operator=(const staged&) = delete;
  virtual ~staged() = default;
  virtual void run() = 0;
  /// Has what run() needs brought to the processor. Nothing may depend on it.
  virtual void fetch() const noexcept {}
};

/// Does what follows from answers that came together stage by stage, and not lock by lock: all
/// that is run for one lock is more code than the processor keeps at hand, so that each of a
/// hundred locks would wait for all of it, and for one stage it is not.
///
/// What is sent stands in the order in which callers asked for it, whatever thread they are on: who
/// is called on the loop's thread while the stages are run sends in the last of them, and others
/// meanwhile behind it. So a lock that was released in one callback is free for whoever acquires it
/// after that.
///
/// | state     | gathers() | sends_later() | holds_back()  | how it ends                         |
/// |-----------|-----------|---------------|---------------|-------------------------------------|
/// | idle      | no        | no            | no            | begin()                             |
/// | gathering | yes       | no            | no            | end()                               |
/// | running   | no        | yes           | once added to | all but `send` has been run         |
/// | sending   | no        | yes           | yes           | nothing is left to be sent          |
///
/// add() is allowed where gathers(), and where sends_later() for the stage `send`; elsewhere it is
/// done at once. Whoever adds keeps alive what the stages belong to.
///
/// Thread safety: gathers(), sends_later() and holds_back() from any thread, the rest on the
/// loop's.
class stages {
 public:
  explicit stages(io::loop& of) noexcept : loop_(of) {}

  void begin() noexcept;
  void end();
  /// False on other threads, as the next one.
  bool gathers() const noexcept;
  bool sends_later() const noexcept;
  /// For other threads: something waits for the stage `send`. What is to be behind it is posted to
  /// the loop.
  bool holds_back() const noexcept { return holds_back_.load(std::memory_order_acquire); }
  void add(stage s, std::shared_ptr<staged> who);

 private:
  static constexpr std::size_t count = 3;
  std::vector<std::shared_ptr<staged>>& waiting(stage s) noexcept {
    return waiting_[static_cast<std::size_t>(s)];
  }
  void run(stage s);
  void send();

  io::loop& loop_;
  bool is_gathering_{};
  bool is_running_{};
  bool goes_on_{};  ///< It was posted that sending goes on.
  std::atomic<bool> holds_back_{};
  std::array<std::vector<std::shared_ptr<staged>>, count> waiting_;
  std::vector<std::shared_ptr<staged>> running_;
};

}  // namespace holdfast::engines::redlock
