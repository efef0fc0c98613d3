#include "io/process/life_looks.hpp"

#include "io/process/per_process.hpp"

#include <algorithm>

namespace holdfast::io {

namespace {

constinit per_process<life_looks> looks;

}  // namespace

life_looks& life_looks::of_process() { return looks.get(); }

life life_looks::at(const std::string& directory, const session_id& id,
                    const core::life_place& place, duration age, time_point now) {
  {
    const held_mutex hold(mutex_);
    const auto known = alive_.find(id);
    const bool is_told = known != alive_.end() && known->second.where == place &&
                         now - known->second.when <= std::min(age, remembered_for);
    // None at all is nothing, also within one turn of the clock.
    if (is_told && age > duration::zero()) return life::alive;
  }
  const life is = look_(directory, id, place);
  const held_mutex hold(mutex_);
  if (is == life::alive) {
    remember(id, {place, now});
  } else {
    alive_.erase(id);
  }
  return is;
}

void life_looks::remember(const session_id& id, const seen& alive) {
  if (alive_.size() >= remembered_most && !alive_.contains(id)) {
    std::erase_if(alive_,
                  [&](const auto& one) { return one.second.when + remembered_for < alive.when; });
    if (alive_.size() >= remembered_most) alive_.clear();
  }
  alive_.insert_or_assign(id, alive);
}

}  // namespace holdfast::io
