#pragma once

#include "client/grant.hpp"

#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::client {

/// The names that one session acquires or holds, each once.
///
/// Thread safety: every function, from any thread.
class lock_table {
 public:
  struct content {
    std::vector<std::shared_ptr<grant>> held;
    std::vector<std::shared_ptr<acquisition>> pending;
  };

  /// False when the name is there already.
  bool add(grant& g, acquisition& taker);
  /// From acquiring to held. False when the session has ended meanwhile: it is removed then.
  bool hold(grant& g);
  void remove(grant& g) noexcept;

  /// Everything that is there; from then on hold() answers false.
  content end();
  bool empty() const;

 private:
  mutable std::mutex mutex_;
  bool ended_{};
  std::unordered_map<std::string_view, grant*> names_;  // The text is the grant's own.
};

}  // namespace holdfast::client
