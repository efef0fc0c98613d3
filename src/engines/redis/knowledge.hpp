#pragma once

#include "io/thread/mutex.hpp"

#include <holdfast/clock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace holdfast::engines::redis {

/// What a client knows of its server that the server may forget.
///
/// Thread safety: every function, from any thread.
class knowledge {
 public:
  /// The largest token or incarnation that was given.
  std::uint64_t token() const noexcept { return token_; }
  /// Something was granted, or could have been.
  bool was_used() const noexcept { return was_used_; }
  /// That of the store as it was used last; zero: not known.
  duration max_ttl() const noexcept { return duration{max_ttl_}; }

  void saw_token(std::uint64_t t) noexcept;
  void saw_store(bool was_used, duration max_ttl) noexcept;
  bool is_worth_keeping() const noexcept { return was_used_ || token_ > 0; }

 private:
  std::atomic<std::uint64_t> token_{};
  std::atomic<bool> was_used_{};
  std::atomic<duration::rep> max_ttl_{};
};

/// What this process knows of the stores that it has used, also while it has none of them open: a
/// daemon whose session has ended opens the next one after the server lost everything. Neither a
/// URL nor a password is kept.
///
/// Thread safety: every function, from any thread.
class known_stores {
 public:
  static constexpr std::size_t stores_max = 4096;  ///< Of those that nobody has open.

  std::shared_ptr<knowledge> of(const std::string& url, const std::string& password);
  std::size_t size() const;

 private:
  struct entry {
    std::shared_ptr<knowledge> what{};
    std::uint64_t opened{};  ///< By its turn.
  };
  /// Those that nobody has open and that say nothing; beyond stores_max the one opened longest ago.
  void forget_some() HOLDFAST_REQUIRES(mutex_);

  mutable io::mutex mutex_;
  std::uint64_t turn_ HOLDFAST_GUARDED_BY(mutex_){};
  std::map<std::uint64_t, entry> stores_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::engines::redis
