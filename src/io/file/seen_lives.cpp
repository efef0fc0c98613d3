#include "io/file/seen_lives.hpp"

#include "io/process/per_process.hpp"
#include "io/thread/mutex.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace holdfast::io {

namespace {

using core::redlock::life_notes;

struct seen_store {
  life_notes lives{};
  std::uint64_t turn{};
};

struct seen_table {
  io::mutex mutex;
  std::map<std::string, seen_store> stores HOLDFAST_GUARDED_BY(mutex);
  std::uint64_t turns HOLDFAST_GUARDED_BY(mutex){};
};

constinit per_process<seen_table> seen_here;

}  // namespace

void remember_lives(const std::string& notes, const life_notes& seen) {
  seen_table& t = seen_here.get();
  const held_mutex hold(t.mutex);
  seen_store& s = t.stores[notes];
  s.turn = ++t.turns;
  s.lives.recall(seen.sights());
  s.lives.keep_newest(life_notes::notes_max);
  if (t.stores.size() <= seen_stores_max) return;
  t.stores.erase(
      std::ranges::min_element(t.stores, {}, [](const auto& one) { return one.second.turn; }));
}

life_notes lives_seen(const std::string& notes) {
  seen_table& t = seen_here.get();
  const held_mutex hold(t.mutex);
  const auto found = t.stores.find(notes);
  return found == t.stores.end() ? life_notes{} : found->second.lives;
}

}  // namespace holdfast::io
