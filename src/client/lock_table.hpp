#pragma once

#include "core/flat_table.hpp"
#include "io/thread/mutex.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace holdfast::client {

class acquisition;
class grant;

/// The names that one session acquires or holds, each once.
///
/// Thread safety: every function, from any thread.
class lock_table {
 public:
  /// What it notes at a grant, which may be in one table only. Under the mutex.
  struct place {
    acquisition* taker{};  ///< Set while it is acquired.
    bool listed{};
    std::uint64_t hash{};  ///< Of the name.
  };
  struct content {
    std::vector<std::shared_ptr<grant>> held;
    std::vector<std::shared_ptr<acquisition>> pending;
  };

  enum class added : std::uint8_t {
    yes,
    name_is_there,
    let_go,  ///< The name is there only because the store has not confirmed yet that it was let go.
    session_is_over
  };

  /// Puts it there for `taker`, who hears of the session's end from then on.
  added add(grant& g, acquisition& taker);
  /// From acquiring to held. False when the session has ended meanwhile: it is removed then.
  bool hold(grant& g);
  /// Its taker is done with it, and its name stays taken.
  void keep(grant& g) noexcept;
  void remove(grant& g) noexcept;

  /// The session is over: every lease of a lock's own is lost, add() and hold() refuse.
  void stop() noexcept;
  /// Everything that is there; after stop().
  content all() const;
  bool empty() const;

 private:
  /// Null: the name is not there.
  grant* find(std::string_view name, std::uint64_t hash) const HOLDFAST_REQUIRES(mutex_);
  /// A second time changes nothing.
  void erase(grant& g) noexcept HOLDFAST_REQUIRES(mutex_);

  mutable io::mutex mutex_;
  bool ended_ HOLDFAST_GUARDED_BY(mutex_){};
  bool own_leases_ HOLDFAST_GUARDED_BY(mutex_){};  ///< Some lock here has had a lease of its own.
  core::flat_table<grant> names_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::client
