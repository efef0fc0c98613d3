#include "core/patrol.hpp"

#include "core/assert.hpp"
#include "core/rules.hpp"

#include <algorithm>

namespace holdfast::core {

bool patrol::may_begin(time_point now) const noexcept {
  if (under_way_) return false;
  return began_ == time_point::min() || now >= began_ + pause_now();
}

glance_request patrol::begin(const session_id& from, time_point now) {
  HOLDFAST_ASSERT(!under_way_ && takes_.empty());
  under_way_ = true;
  began_ = now;
  dead_ = 0;
  again_.clear();
  for (const auto& s : notes_.due(now)) {
    if (again_.size() == most) break;
    again_.push_back(s.id);
  }
  HOLDFAST_ASSERT(notes_.all().size() <= noted_most);
  return {.whom = again_,
          .others = std::min(most, noted_most - notes_.all().size()),
          .from = from,
          .whole = false};
}

void patrol::look(const session_record& s, time_point now) {
  const auto noted = notes_.all().find(s.id);
  const bool is_known = noted != notes_.all().end();
  if (is_known && noted->second.at != s.at) {
    notes_.forget(s.id);  // It is alive.
  } else if (is_known || notes_.all().size() < noted_most) {
    notes_.note(s.id, s.at, s.ttl, now);
  }
}

std::vector<take_request> patrol::seen(const glance_reply& r, time_point now) {
  HOLDFAST_ASSERT(under_way_ && takes_.empty());
  std::vector<take_request> takes;
  if (r.what == status::ok) {
    for (const auto& s : r.there) look(s, now);
    const auto is_there = [&](const session_id& id) {
      return std::ranges::find(r.there, id, &session_record::id) != r.there.end();
    };
    for (const auto& id : again_) {
      // It was closed, or somebody else took it.
      if (!is_there(id)) notes_.forget(id);
    }
    for (const auto& s : active.patrol_waits ? notes_.due(now) : notes_.due(time_point::max())) {
      // Others that are due wait for a look of their own: so a round takes no more than it looks
      // at.
      const bool looked_at = std::ranges::find(again_, s.id) != again_.end();
      if (looked_at || !active.patrol_waits) takes.push_back({.id = s.id, .seen = s.at});
    }
  }
  for (const auto& t : takes) takes_.insert(t.id);
  // The round is over with as many answers.
  HOLDFAST_ASSERT(takes_.size() == takes.size());
  if (takes_.empty()) end_round();
  return takes;
}

void patrol::taken(const session_id& id, const take_reply& r) {
  const bool was_asked = takes_.erase(id) == 1;
  HOLDFAST_ASSERT(under_way_ && was_asked);
  if (r.what == status::ok) ++dead_;
  // Unless it is not known what became of it: then the next round looks at it again.
  if (is_answer(r.what)) notes_.forget(id);
  if (takes_.empty()) end_round();
}

void patrol::end_round() noexcept {
  HOLDFAST_ASSERT(!active.patrol_waits || dead_ <= again_.size());
  under_way_ = false;
  // A round that looked at nobody again says nothing of how many are dead.
  if (!again_.empty()) among_dead_ = 2 * dead_ >= again_.size();
  if (notes_.all().empty()) among_dead_ = false;
}

time_point patrol::next() const noexcept {
  return among_dead_ && !under_way_ ? began_ + pause_among_dead_ : time_point::max();
}

}  // namespace holdfast::core
