#include "cli/changes.hpp"

#include <map>
#include <set>
#include <tuple>

namespace holdfast::cli {

namespace {

using entry_key = std::tuple<std::string, session_id, std::uint64_t>;

std::map<entry_key, entry_info> entries_of(const snapshot& s) {
  std::map<entry_key, entry_info> found;
  for (const lock_info& l : s.locks) {
    for (const entry_info& e : l.entries) {
      found.emplace(entry_key(l.name.str(), e.session, e.token.value), e);
    }
  }
  return found;
}

std::set<session_id> denied_between(const snapshot& before, const snapshot& after) {
  std::set<session_id> found;
  for (const session_info& one : after.sessions) {
    if (one.denied) found.insert(one.id);
  }
  for (const session_info& one : before.sessions) {
    if (one.denied) found.erase(one.id);
  }
  return found;
}

}  // namespace

const char* name_of(change::kind k) noexcept {
  switch (k) {
    case change::kind::waiting:
      return "waiting";
    case change::kind::acquired:
      return "acquired";
    case change::kind::denied:
      return "denied";
    case change::kind::released:
      return "released";
    case change::kind::gone:
      break;
  }
  return "gone";
}

std::vector<change> changes_between(const snapshot& before, const snapshot& after) {
  const auto old_entries = entries_of(before);
  const auto new_entries = entries_of(after);
  const auto denied = denied_between(before, after);
  std::vector<change> found;
  const auto add_denial = [&](const entry_key& k, const entry_info& e) {
    if (denied.contains(e.session)) {
      found.push_back({change::kind::denied, lock_name(std::get<0>(k)), e});
    }
  };
  for (const auto& [k, e] : old_entries) {
    if (new_entries.contains(k)) continue;
    // A waiter may be out of the queue by the look that shows the denial.
    add_denial(k, e);
    found.push_back(
        {e.granted ? change::kind::released : change::kind::gone, lock_name(std::get<0>(k)), e});
  }
  for (const auto& [k, e] : new_entries) {
    const auto was = old_entries.find(k);
    const bool granted_before = was != old_entries.end() && was->second.granted;
    if (e.granted && !granted_before) {
      found.push_back({change::kind::acquired, lock_name(std::get<0>(k)), e});
    } else if (was == old_entries.end()) {
      found.push_back({change::kind::waiting, lock_name(std::get<0>(k)), e});
    }
    add_denial(k, e);
  }
  return found;
}

}  // namespace holdfast::cli
