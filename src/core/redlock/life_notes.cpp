#include "core/redlock/life_notes.hpp"

#include "core/assert.hpp"
#include "core/redlock/rules.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::core::redlock {

namespace {

/// The note of a process is a word like the others: it begins with this.
constexpr std::string_view at_node = "at=";

std::string words_of(const std::string& node) {
  return std::string(at_node).append(node).append(1, '=');
}

/// One bit each for `durable`, `follows` and `replaces`. Who knows the first alone takes a process
/// that follows for one that is not durable, which only makes a wait longer.
char digit_of(const life_notes::process& p) {
  return static_cast<char>('0' + (p.durable ? 1 : 0) + (p.follows ? 2 : 0) + (p.replaces ? 4 : 0));
}

std::optional<life_notes::process> process_in(const std::string& text) {
  const auto end = text.find('=');
  if (end == std::string::npos || end + 2 != text.size()) return std::nullopt;
  const int bits = text.back() - '0';
  if (bits < 0 || bits > 7) return std::nullopt;
  return life_notes::process{.run_id = text.substr(0, end),
                             .durable = (bits & 1) != 0,
                             .follows = (bits & 2) != 0,
                             .replaces = (bits & 4) != 0};
}

}  // namespace

std::string life_notes::word_of(const std::string& node, const process& p) {
  std::string word = words_of(node);
  word.append(p.run_id).append(1, '=').append(1, digit_of(p));
  return word;
}

time_point life_notes::note(const std::string& life, time_point now) {
  return seen_.emplace(life, now).first->second;
}

void life_notes::recall(const std::string& life, time_point since) {
  const auto [there, added] = seen_.emplace(life, since);
  if (!added) there->second = std::min(there->second, since);
}

void life_notes::recall(const life_notes& sights) {
  for (const auto& [life, since] : sights.seen_) recall(life, since);
}

life_notes life_notes::sights() const {
  life_notes lives;
  for (const auto& [word, since] : seen_) {
    if (!word.starts_with(at_node)) lives.recall(word, since);
  }
  // One that follows another is as old as that one only for who missed nothing in between.
  for (const auto& [node, what] : nodes()) {
    if (what.is.follows) lives.seen_.insert_or_assign(what.is.run_id, what.at);
  }
  return lives;
}

std::optional<life_notes::process> life_notes::process_at(const std::string& node) const {
  const std::string begin = words_of(node);
  for (auto at = seen_.lower_bound(begin); at != seen_.end(); ++at) {
    if (!at->first.starts_with(begin)) break;
    // Else it is a longer name's.
    if (auto found = process_in(at->first.substr(begin.size()))) return found;
  }
  return std::nullopt;
}

time_point life_notes::note_process(const std::string& node, const std::string& run_id,
                                    bool durable, time_point now) {
  const auto last = process_at(node);
  const bool same = last && last->run_id == run_id;
  const bool follows = last && !same && last->durable && durable;
  const process is{.run_id = run_id,
                   .durable = durable,
                   .follows = same ? last->follows : follows,
                   .replaces = same ? last->replaces : last.has_value()};
  if (follows) recall(run_id, note(last->run_id, now));
  if (last && last != is) forget(word_of(node, *last));
  // It is gone; the notes have a place for so many only.
  if (last && !same) forget(last->run_id);
  if (last != is) note(word_of(node, is), now);
  return note(run_id, now);
}

bool life_notes::is_durable(const std::string& node, const std::string& run_id) const {
  const auto last = process_at(node);
  return last && last->run_id == run_id && last->durable;
}

void life_notes::forget_before(time_point then) {
  std::erase_if(seen_, [&](const auto& sight) { return sight.second < then; });
}

std::map<std::string, life_notes::noted> life_notes::nodes() const {
  std::map<std::string, noted> all;
  for (const auto& [word, at] : seen_) {
    if (!word.starts_with(at_node) || word.size() < at_node.size() + 4) continue;
    const auto run = word.rfind('=', word.size() - 3);
    if (run == std::string::npos || run < at_node.size()) continue;
    auto is = process_in(word.substr(run + 1));
    if (!is) continue;
    const auto sight = seen_.find(is->run_id);
    const time_point since = sight == seen_.end() ? at : sight->second;
    all.emplace(word.substr(at_node.size(), run - at_node.size()),
                noted{.is = std::move(*is), .at = at, .since = since});
  }
  return all;
}

/// Two notes about one node, each from a process that may have missed what the other saw. All of
/// them read one clock, and the processes of a node follow each other: the later note is of the
/// later state.
life_notes::noted life_notes::safer_of(const noted& a, const noted& b) {
  // At one moment, nobody knows which was first: what was synced less is believed.
  const bool b_is_newer = a.at != b.at ? b.at > a.at : a.is.durable && !b.is.durable;
  noted newer = b_is_newer ? b : a;
  const noted& older = b_is_newer ? a : b;
  newer.is.replaces |= older.is.replaces || newer.is.run_id != older.is.run_id;
  if (newer.is.run_id == older.is.run_id) {
    // Both saw it, and it was there when the first did. But one that follows is as old as the
    // process before it only for who missed nothing in between: that may be the other.
    const bool later = newer.is.follows || older.is.follows;
    newer.is.follows = newer.since == older.since ? later
                       : later ? (newer.since > older.since ? newer : older).is.follows
                               : false;
    newer.since = later ? std::max(newer.since, older.since) : std::min(newer.since, older.since);
    return newer;
  }
  // The older one came before all that it follows, or was missed by who says that it follows.
  if (!newer.is.follows || older.at <= newer.since) return newer;
  if (older.is.durable) {
    newer.since = std::max(newer.since, older.since);
  } else {
    newer.since = newer.at;
    newer.is.follows = false;
  }
  return newer;
}

void life_notes::merge(const life_notes& other) {
  auto all = nodes();
  const auto theirs = other.nodes();
  const auto take_out = [this](const std::map<std::string, noted>& side) {
    for (const auto& [node, what] : side) {
      forget(word_of(node, what.is));
      forget(what.is.run_id);
    }
  };
  take_out(all);
  // A life has one sight, and both are true: it was there when the first of them saw it.
  recall(other);
  take_out(theirs);
  for (const auto& [node, what] : theirs) {
    const auto [there, added] = all.emplace(node, what);
    if (!added) there->second = safer_of(there->second, what);
  }
  for (const auto& [node, what] : all) {
    seen_.insert_or_assign(word_of(node, what.is), what.at);
    // One server may be known by two names.
    const auto [there, added] = seen_.emplace(what.is.run_id, what.since);
    if (!added) there->second = std::max(there->second, what.since);
  }
}

void life_notes::believe_less(const std::string& node, const noted& what, const process& is,
                              time_point at) {
  forget(word_of(node, what.is));
  // It was there when it was seen, whatever came before it.
  if (what.is.follows) seen_.insert_or_assign(is.run_id, what.at);
  seen_.insert_or_assign(word_of(node, is), at);
}

void life_notes::add(const life_notes& notes, time_point now) {
  if (!active.lost_notes_stay_lost) return merge(notes);
  life_notes believed = notes;
  for (const auto& [node, what] : notes.nodes()) {
    if (process_at(node) || (!what.is.durable && !what.is.follows)) continue;
    process is = what.is;
    is.durable = is.follows = false;
    believed.believe_less(node, what, is, now);
  }
  merge(believed);
}

void life_notes::follow_only(const life_notes& shared) {
  if (!active.lost_notes_stay_lost) return;
  for (const auto& [node, what] : nodes()) {
    if (!what.is.follows || shared.process_at(node)) continue;
    process is = what.is;
    is.follows = false;
    believe_less(node, what, is, what.at);
  }
}

bool life_notes::overstate(const life_notes& other) const {
  return std::ranges::any_of(nodes(), [&other](const auto& one) {
    const auto is = other.process_at(one.first);
    const bool agreed = is && is->durable && is->run_id == one.second.is.run_id;
    return one.second.is.durable && !agreed;
  });
}

void life_notes::keep_newest(std::size_t most) {
  if (seen_.size() <= most) return;
  std::set<std::string> last;
  for (const auto& [node, what] : nodes()) {
    last.insert(word_of(node, what.is));
    last.insert(what.is.run_id);
  }
  std::vector<std::tuple<bool, time_point, std::string>> order;
  for (const auto& [word, since] : seen_) order.emplace_back(last.contains(word), since, word);
  std::ranges::sort(order);
  for (std::size_t i = 0; i + most < order.size(); ++i) forget(std::get<std::string>(order[i]));
  HOLDFAST_ASSERT(seen_.size() == most);
}

}  // namespace holdfast::core::redlock
