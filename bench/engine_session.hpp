#pragma once

#include "core/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::bench {

/// A session of an engine that is renewed only when somebody says so. Functions throw
/// std::runtime_error when the engine does not do as they say.
class engine_session {
 public:
  explicit engine_session(core::engine& e);

  /// Exclusive locks of its own names, until it has so many; 1,024 at a time.
  void hold(std::size_t count);
  /// Holds the name or begins to wait for it.
  void enqueue(const std::string& name);
  /// Calls `notify` when one that is ahead in the last one's queue may have gone.
  void watch(std::function<void()> notify);
  /// Whether the last one is granted by now.
  bool confirm();
  /// Gives the last one back.
  void leave();
  void beat();
  void close();

 private:
  core::enqueue_request next(const std::string& name);

  core::engine& engine_;
  const session_id id_;
  std::uint64_t inc_{};
  std::uint64_t gate_{};
  std::uint64_t attempt_{};
  std::uint64_t requests_{};
  std::size_t held_{};
  std::string last_;
  core::queue_view seen_;
  std::unique_ptr<core::watch_handle> watch_;
};

/// How many entries and sessions there are, once it is known.
std::size_t count_all(core::engine& e);

}  // namespace holdfast::bench
