#pragma once

#include "io/process/per_process.hpp"
#include "io/thread/mutex.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace holdfast::io {

/// One T for each store that this process has used, for what it makes later of the same store. A
/// forked child begins with none. Declare it `constinit` at namespace scope.
///
/// Of more than `stores_max` the one is forgotten that was changed longest ago: for what only makes
/// a wait longer when it is gone.
///
/// Thread safety: every function, from any thread.
template <class T>
class per_store {
 public:
  static constexpr std::size_t stores_max = 64;

  constexpr per_store() = default;

  T get(const std::string& store) {
    table& t = table_.get();
    const held_mutex hold(t.mutex);
    const auto found = t.stores.find(store);
    return found == t.stores.end() ? T{} : found->second.value;
  }

  /// Calls `change` with that of the store, an empty one at first; it must not come back here.
  template <class Change>
  void change(const std::string& store, Change change) {
    table& t = table_.get();
    const held_mutex hold(t.mutex);
    kept& k = t.stores[store];
    k.turn = ++t.turns;
    change(k.value);
    if (t.stores.size() <= stores_max) return;
    t.stores.erase(
        std::ranges::min_element(t.stores, {}, [](const auto& one) { return one.second.turn; }));
  }

 private:
  struct kept {
    T value{};
    std::uint64_t turn{};
  };
  struct table {
    io::mutex mutex;
    std::map<std::string, kept> stores HOLDFAST_GUARDED_BY(mutex);
    std::uint64_t turns HOLDFAST_GUARDED_BY(mutex){};
  };

  per_process<table> table_;
};

}  // namespace holdfast::io
