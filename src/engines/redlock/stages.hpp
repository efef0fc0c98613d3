#pragma once

#include <array>
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
  lock_is_free,  ///< Whoever released it is told, and may acquire.
  round_ended,   ///< Its owner is told, and may release.
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

/// Tells what follows from answers that came together stage by stage, and not lock by lock: all
/// that is run for one lock is more code than the processor keeps at hand, so that each of a
/// hundred locks would wait for all of it, and for one stage it is not.
///
/// Only the telling waits. What is sent is sent at once, so that it stands in the order in which
/// callers asked for it, whatever thread they are on.
///
/// | state     | add()                                   | how it ends                          |
/// |-----------|-----------------------------------------|--------------------------------------|
/// | idle      | not allowed: do it at once              | begin()                              |
/// | gathering | kept                                    | end() runs the stages                |
///
/// Thread safety: gathers() from any thread, the rest on the loop's.
class stages {
 public:
  explicit stages(io::loop& of) noexcept : loop_(of) {}

  void begin() noexcept { is_gathering_ = true; }
  void end();
  /// False on other threads.
  bool gathers() const noexcept;
  void add(stage s, std::shared_ptr<staged> who);

 private:
  static constexpr std::size_t count = 2;
  void run(stage s);

  io::loop& loop_;
  bool is_gathering_{};
  std::array<std::vector<std::shared_ptr<staged>>, count> waiting_;
  std::vector<std::shared_ptr<staged>> running_;
};

}  // namespace holdfast::engines::redlock
