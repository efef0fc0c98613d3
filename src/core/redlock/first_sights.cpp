#include "core/redlock/first_sights.hpp"

#include <algorithm>

namespace holdfast::core::redlock {

namespace {

/// The note of a process is a word like the others: it begins with this.
std::string words_of(const std::string& node) { return "at=" + node + "="; }

}  // namespace

std::string first_sights::word_of(const std::string& node, const process& p) {
  return words_of(node) + p.run_id + (p.durable ? "=1" : "=0");
}

time_point first_sights::note(const std::string& life, time_point now) {
  return seen_.emplace(life, now).first->second;
}

void first_sights::recall(const std::string& life, time_point since) {
  const auto [there, added] = seen_.emplace(life, since);
  if (!added) there->second = std::min(there->second, since);
}

std::optional<first_sights::process> first_sights::process_at(const std::string& node) const {
  const std::string begin = words_of(node);
  for (auto at = seen_.lower_bound(begin); at != seen_.end(); ++at) {
    if (!at->first.starts_with(begin)) break;
    const std::string rest = at->first.substr(begin.size());
    const auto end = rest.find('=');
    // Else it is a longer name's.
    if (end != std::string::npos && end + 2 == rest.size()) {
      return process{.run_id = rest.substr(0, end), .durable = rest.back() == '1'};
    }
  }
  return std::nullopt;
}

time_point first_sights::note_process(const std::string& node, const std::string& run_id,
                                      bool durable, time_point now) {
  const auto last = process_at(node);
  const process is{.run_id = run_id, .durable = durable};
  const bool follows = last && last->run_id != run_id && last->durable && durable;
  if (follows) recall(run_id, note(last->run_id, now));
  if (last && last != is) forget(word_of(node, *last));
  // It is gone; the notes have a place for so many only.
  if (last && last->run_id != run_id) forget(last->run_id);
  if (last != is) note(word_of(node, is), now);
  return note(run_id, now);
}

bool first_sights::is_durable(const std::string& node, const std::string& run_id) const {
  return process_at(node) == process{.run_id = run_id, .durable = true};
}

void first_sights::forget_before(time_point then) {
  std::erase_if(seen_, [&](const auto& sight) { return sight.second < then; });
}

}  // namespace holdfast::core::redlock
