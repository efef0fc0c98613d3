#pragma once

#include "sim/context.hpp"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::sim {

class oracle;
class process;
class session_driver;
class store;

/// Whether a task is still wanted: its process must not have died since, and its counter not moved.
struct guard {
  process* who{};
  std::uint64_t incarnation{};
  const std::uint64_t* counter{};
  std::uint64_t value{};
  bool valid() const noexcept;
};

/// One operating system process: it can stop, go on, be cut off, die at any step, and be replaced.
///
/// Thread safety: none; one run is one thread.
class process {
 public:
  process(context& c, oracle& judge, int index, host& machine);
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process();

  /// Begins a new incarnation with sessions on stores of its choice.
  void start(std::vector<std::unique_ptr<store>>& stores);
  /// Dies now; everything it would have done is forgotten, what it sent stays under way.
  void crash();
  /// Nothing of it runs for `how_long`, as under SIGSTOP.
  void pause(duration how_long);
  /// Nothing passes between it and the store: its questions, the answers, or both.
  void cut(int store, duration how_long, bool questions, bool answers);
  /// Half the chances to die lie between two actions of one step: false when it just died.
  bool survives_step();

  bool alive() const noexcept { return alive_; }
  bool is(std::uint64_t incarnation) const noexcept {
    return alive_ && incarnation_ == incarnation;
  }
  bool paused() const noexcept { return resumes_ > context_.time.now(); }
  bool is_heard_by(int store) const noexcept;
  bool hears(int store) const noexcept;
  std::uint64_t incarnation() const noexcept { return incarnation_; }
  int index() const noexcept { return index_; }
  host& machine() noexcept { return machine_; }
  time_point now() const noexcept { return machine_.clock.read(context_.time.now()); }
  const std::vector<std::unique_ptr<session_driver>>& sessions() const noexcept {
    return sessions_;
  }

  guard guarded(const std::uint64_t& counter) noexcept {
    return {this, incarnation_, &counter, counter};
  }
  /// Runs `f` at `when` if `g` is still valid then, or when the process goes on.
  template <class F>
  void post(moment when, guard g, F f) {
    context_.time.at(when, [this, g, f = std::move(f)]() mutable {
      if (!g.valid()) return;
      if (paused()) {
        // What piled up while it was stopped is met in any order afterwards.
        post(resumes_ + context_.dice.between(duration{0}, std::chrono::microseconds{300}), g,
             std::move(f));
        return;
      }
      f();
    });
  }

 private:
  context& context_;
  oracle& judge_;
  int index_;
  host& machine_;
  bool alive_{};
  std::uint64_t incarnation_{};
  moment resumes_{};
  std::vector<moment> mute_until_;  ///< Per store.
  std::vector<moment> deaf_until_;
  std::vector<std::unique_ptr<session_driver>> sessions_;
  std::vector<std::unique_ptr<session_driver>> dead_;  ///< Perhaps still on the call stack.
};

inline bool guard::valid() const noexcept {
  return who->is(incarnation) && (counter == nullptr || *counter == value);
}

}  // namespace holdfast::sim
