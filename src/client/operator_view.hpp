#pragma once

#include "client/store_core.hpp"
#include "core/engine.hpp"

#include <holdfast/store.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace holdfast::client {

/// What an operator sees of a store and does to it; one for each `store` object, because each
/// remembers what it has seen last.
///
/// Thread safety: every function, from any thread.
class operator_view {
 public:
  explicit operator_view(std::shared_ptr<store_core> store) : store_(std::move(store)) {}

  /// Whether deny() takes these texts.
  static result<void> check_reason(const std::string& by, const std::string& why);

  const std::shared_ptr<store_core>& store() const noexcept { return store_; }

  result<snapshot> list();
  result<bool> wait_for_change(duration wait, std::stop_token stop);
  result<denial> deny(const session_id& id, std::string by, std::string why);
  result<owner_info> break_session(const session_id& id);
  result<std::vector<finding>> diagnose();

 private:
  /// Blocks. Notes how long it took, by which whoever waits for a change rests.
  result<core::listing> ask();
  /// `invalid_argument` when there is no such session.
  result<core::session_record> find(const session_id& id);
  /// How somebody who is to be denied is known.
  enum class trace : std::uint8_t { record, lock };
  /// `unsupported` when it holds a lock by which nobody can be denied.
  result<trace> trace_of(const session_id& id);
  result<void> take(const core::session_record& record);

  std::shared_ptr<store_core> store_;
  std::atomic<std::uint64_t> revision_{};
  std::atomic<time_point> rested_at_{time_point{}};  ///< Nobody who waits asks before it.
  std::atomic<duration> took_{duration::max()};      ///< The last listing.
};

}  // namespace holdfast::client
