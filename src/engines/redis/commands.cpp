#include "engines/redis/commands.hpp"

#include "engines/redis/keys.hpp"
#include "wire/resp_writer.hpp"

#include <chrono>

namespace holdfast::engines::redis::commands {

namespace {

using wire::joined;
using wire::resp_writer;

/// EVALSHA of `s`: all arguments in ARGV.
template <class... Arguments>
std::string call(const script& s, const Arguments&... arguments) {
  std::string out;
  resp_writer(out).command("EVALSHA", s.sha1, 0, arguments...);
  return out;
}

/// The same, and behind the others the sessions.
template <class... Arguments>
std::string call_for(const script& s, const std::vector<session_id>& whom,
                     const Arguments&... arguments) {
  std::string out;
  resp_writer to(out);
  to.begin(3 + sizeof...(arguments) + whom.size());
  to.argument("EVALSHA");
  to.argument(s.sha1);
  to.argument(0);
  (to.argument(arguments), ...);
  for (const auto& id : whom) to.argument(id.str());
  return out;
}

template <class... Arguments>
std::string plain(const Arguments&... arguments) {
  std::string out;
  resp_writer(out).command(arguments...);
  return out;
}

std::string text_of(const mode& how) {
  if (how.is_permits()) return "p" + std::to_string(how.limit());
  return how.is_exclusive() ? "x" : "r";
}

std::int64_t count_of(wall_time t) { return t.time_since_epoch().count(); }

int flag(bool truth) { return truth ? 1 : 0; }

}  // namespace

std::string open(std::string_view nonce, const core::session_record& d) {
  const owner_info& o = d.owner;
  return call(scripts::open, nonce, d.id.str(), d.ttl.count(), "device", d.where.device, "inode",
              d.where.inode, "pid", o.pid, "host", o.host, "boot_id", o.boot_id, "program",
              o.program, "instance", o.instance, "label", o.label, "started", count_of(o.started),
              "opened", count_of(d.opened));
}

std::string beat(std::string_view nonce, const session_id& id, std::uint64_t inc) {
  return call(scripts::beat, nonce, id.str(), inc);
}

std::string close(std::string_view nonce, const session_id& id, std::uint64_t inc) {
  return call(scripts::close, nonce, id.str(), inc);
}

std::string enqueue(std::string_view nonce, const core::enqueue_request& r,
                    std::string_view client) {
  return call(scripts::enqueue, nonce, r.id.str(), r.inc, r.gate, r.request, text_of(r.how),
              count_of(r.since), client, flag(r.leave_if_busy), core::waiters_max, r.name.str());
}

std::string confirm(std::string_view nonce, const core::confirm_request& r) {
  return call(scripts::confirm, nonce, r.id.str(), r.inc, r.order.value, r.request, r.name.str());
}

std::string leave(std::string_view nonce, const core::leave_request& r) {
  return call(scripts::leave, nonce, r.id.str(), r.inc, r.order.value, r.request, flag(r.move_gate),
              r.name.str());
}

std::string take(std::string_view nonce, const core::take_request& r) {
  return call(scripts::take, nonce, r.id.str(), r.seen.inc, r.seen.beat, flag(r.seen.denied));
}

std::string deny(std::string_view nonce, const core::deny_request& r) {
  return call(scripts::deny, nonce, r.id.str(), r.by, r.why);
}

std::string sweep_more(std::string_view nonce) { return call(scripts::sweep_more, nonce); }

std::string list(std::string_view nonce, const list_bounds& b, std::string_view cursor,
                 const std::vector<session_id>& whom) {
  return call_for(scripts::list, whom, nonce, b.sessions_max, b.entries_max, b.entries_limit,
                  b.bytes_limit, cursor);
}

std::string glance(std::string_view nonce, const core::glance_request& r) {
  return call_for(scripts::glance, r.whom, nonce, flag(r.whole), r.others);
}

std::string look() { return call(scripts::look); }

std::string write(const admission::write& w) {
  const store_record& r = w.record;
  return call(scripts::write, w.seen[0], w.seen[1], w.seen[2], w.seen[3], r.nonce, r.run_id,
              flag(r.admitted), r.max_ttl.count(), flag(r.durable), r.floor,
              flag(r.max_ttl_inherited), r.database);
}

std::string clean(std::string_view nonce) { return call(scripts::clean, nonce); }

std::string load(const script& s) { return plain("SCRIPT", "LOAD", s.text); }

// One pattern for all settings that decide whether a write is on the disk when it is answered.
std::string persistence() { return plain("CONFIG", "GET", "*append*"); }

std::string info() { return plain("INFO"); }

std::string role() { return plain("ROLE"); }

std::string await_replicas(std::uint32_t count, duration limit) {
  // Rounded up, for WAIT takes zero for no limit at all.
  return plain("WAIT", count, std::chrono::ceil<std::chrono::milliseconds>(limit).count());
}

std::string subscribe(std::string_view client) {
  return plain("SUBSCRIBE", joined{wake_prefix, client});
}

}  // namespace holdfast::engines::redis::commands
