#include "engines/redlock/session_records.hpp"

#include "core/lease.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

std::int64_t number(std::string_view text) {
  std::int64_t n{};
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

/// One that no session has may be foreign, or damaged.
duration ttl_of(std::string_view text) {
  constexpr auto most =
      std::chrono::duration_cast<std::chrono::milliseconds>(core::ttl_max).count();
  return std::chrono::milliseconds(std::clamp<std::int64_t>(number(text), 0, most));
}

core::session_record record_of(const session_id& id, const session_fields& f) {
  core::session_record r;
  r.id = id;
  r.at.inc = 1;
  r.at.denied = f["denied"] == "1";
  r.ttl = ttl_of(f["ttl"]);
  r.owner.host = f["host"];
  r.owner.boot_id = f["boot_id"];
  r.owner.pid = number(f["pid"]);
  r.owner.program = f["program"];
  r.owner.instance = f["instance"];
  r.owner.label = f["label"];
  r.owner.started = core::wall_time_of(number(f["started"]));
  r.opened = core::wall_time_of(number(f["opened"]));
  r.denied_by = f["denied_by"];
  r.denied_why = f["denied_why"];
  return r;
}

}  // namespace

void add_record(session_records& all, const session_id& id, const session_fields& f) {
  auto record = record_of(id, f);
  auto& kept = all.try_emplace(id, record).first->second;
  // One that was denied where it had no record says nothing else about itself.
  if (kept.owner.host.empty()) {
    record.at.denied = record.at.denied || kept.at.denied;
    if (record.denied_by.empty()) record.denied_by = kept.denied_by;
    if (record.denied_why.empty()) record.denied_why = kept.denied_why;
    kept = std::move(record);
  } else if (record.at.denied) {
    kept.at.denied = true;
    kept.denied_by = record.denied_by;
    kept.denied_why = record.denied_why;
  }
}

}  // namespace holdfast::engines::redlock
