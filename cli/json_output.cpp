#include "cli/json_output.hpp"

#include "cli/report.hpp"

namespace holdfast::cli {

namespace {

/// Seconds of the Unix epoch with a fraction; null when it is not known.
nlohmann::ordered_json json_time(wall_time t) {
  if (t == wall_time{}) return nullptr;
  return static_cast<double>(t.time_since_epoch().count()) / 1e6;
}

double seconds(duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

nlohmann::ordered_json json_head(const std::string& store) {
  return {{"version", json_version}, {"store", store}};
}

nlohmann::ordered_json json_of(const owner_info& owner) {
  return {{"host", owner.host},
          {"boot_id", owner.boot_id},
          {"pid", owner.pid},
          {"program", owner.program},
          {"instance", owner.instance},
          {"label", owner.label},
          {"started", json_time(owner.started)}};
}

nlohmann::ordered_json json_of(const session_info& s) {
  return {{"session", s.id.str()},
          {"owner", json_of(s.owner)},
          {"ttl_s", s.ttl == duration::zero() ? nlohmann::ordered_json(nullptr)
                                              : nlohmann::ordered_json(seconds(s.ttl))},
          {"opened", json_time(s.opened)},
          {"beats", s.beats ? nlohmann::ordered_json(*s.beats) : nullptr},
          {"locks", s.locks},
          {"life", name_of(s.life)},
          {"denied", s.denied},
          {"denied_by", s.denied_by},
          {"denied_why", s.denied_why}};
}

nlohmann::ordered_json json_of(const entry_info& e, const snapshot& all) {
  const bool given = e.granted && e.token.value != 0;
  const char* kind = e.mode.is_permits() ? "permits" : e.mode.is_shared() ? "shared" : "exclusive";
  nlohmann::ordered_json out{{"session", e.session.str()},
                             {"state", e.granted ? "held" : "waiting"},
                             {"mode", kind},
                             {"token", given ? nlohmann::ordered_json(e.token.value) : nullptr},
                             {"order", e.token.value},
                             {"since", json_time(e.since)}};
  if (e.mode.is_permits()) out["permits"] = e.mode.limit();
  const session_info* s = all.find(e.session);
  out["owner"] = s == nullptr ? nlohmann::ordered_json(nullptr) : json_of(s->owner);
  out["life"] = name_of(s == nullptr ? life::unknown : s->life);
  out["denied"] = s != nullptr && s->denied;
  return out;
}

nlohmann::ordered_json json_of(const lock_info& l, const snapshot& all) {
  auto entries = nlohmann::ordered_json::array();
  for (const entry_info& e : l.entries) entries.push_back(json_of(e, all));
  return {{"name", l.name.str()}, {"name_hex", name_hex(l.name.str())}, {"entries", entries}};
}

std::string name_hex(const std::string& name) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(digits[byte >> 4U]);
    out.push_back(digits[byte & 15U]);
  }
  return out;
}

std::string json_line(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::cli
