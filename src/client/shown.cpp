#include "client/shown.hpp"

#include "core/queue.hpp"
#include "io/process/life.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace holdfast::client {

session_info shown(const core::session_record& r, const engines::opened_store& store) {
  session_info s;
  s.id = r.id;
  s.owner = r.owner;
  s.ttl = r.ttl;
  s.opened = r.opened;
  // Where none are counted, zero would look as if the holder hung, and a revision as if it raced.
  if (store.counts_beats) s.beats = r.at.beat;
  s.denied = r.at.denied;
  s.denied_by = r.denied_by;
  s.denied_why = r.denied_why;
  return s;
}

snapshot shown(const core::listing& l, const engines::opened_store& store) {
  snapshot picture;
  std::map<session_id, std::uint64_t> counts;
  for (const auto& lock : l.locks) {
    lock_info info{lock.name, {}};
    for (const auto& e : lock.entries) {
      ++counts[e.owner];
      info.entries.push_back(
          {e.owner, e.order, e.how, core::granted(lock.entries, e.order), e.since});
    }
    if (!info.entries.empty()) picture.locks.push_back(std::move(info));
  }
  for (const auto& record : l.sessions) {
    auto info = shown(record, store);
    info.locks = counts[record.id];
    if (!store.life_directory.empty() && record.where.inode != 0) {
      info.life = io::probe_life(store.life_directory, record.id, record.where);
    }
    picture.sessions.push_back(std::move(info));
  }
  std::ranges::sort(
      picture.locks, {}, [](const lock_info& i) -> const auto& { return i.name; });
  std::ranges::sort(picture.sessions, {}, &session_info::id);
  picture.lacks = l.text;
  return picture;
}

}  // namespace holdfast::client
