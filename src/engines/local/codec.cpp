#include "engines/local/codec.hpp"

#include "core/lease.hpp"

#include <algorithm>
#include <array>

/// Numbers of fixed width at fixed places: a heartbeat writes over the beat in the stored bytes,
/// and whoever decides reads the head alone. A byte that is not as it is written is damage, and
/// frees no lock.

namespace holdfast::engines::local {
namespace {

constexpr std::uint8_t format = 1;
constexpr std::uint8_t denied_flag = 1;
// format, flags, inc: then beat, then gate.
constexpr std::size_t beat_at = 2 + 8;
constexpr std::size_t gate_at = beat_at + 8;
constexpr std::size_t entry_size = 2 + 4 + 16 + 8 + 8 + 8 + 2;

enum class kind : std::uint8_t { exclusive, shared, permits };

kind kind_of(const mode& how) {
  if (how.is_exclusive()) return kind::exclusive;
  return how.is_shared() ? kind::shared : kind::permits;
}

std::optional<mode> mode_of(std::uint8_t k, std::uint32_t limit) {
  if (k == static_cast<std::uint8_t>(kind::exclusive) && limit == 1) return mode::exclusive();
  if (k == static_cast<std::uint8_t>(kind::shared) && limit == 1) return mode::shared();
  if (k != static_cast<std::uint8_t>(kind::permits)) return {};
  if (limit == 0 || limit > mode::permits_max) return {};
  return mode::permits(limit);
}

void put_text(writer& w, std::string_view text) {
  text = text.substr(0, text_bytes_max);
  w.number(static_cast<std::uint16_t>(text.size()));
  w.raw(bytes_of(text));
}

std::string take_text(reader& r) { return text_of(r.raw(r.number<std::uint16_t>())); }

void put_time(writer& w, wall_time t) { w.number(t.time_since_epoch().count()); }
wall_time take_time(reader& r) {
  return wall_time(std::chrono::microseconds(r.number<std::int64_t>()));
}

void set_number(std::span<std::byte> value, std::size_t at, std::uint64_t number) {
  for (std::size_t i = 0; i < 8; ++i) value[at + i] = static_cast<std::byte>(number >> (8 * i));
}

std::optional<session_head> take_head(reader& r) {
  if (r.number<std::uint8_t>() != format) return {};
  const auto flags = r.number<std::uint8_t>();
  if ((flags & ~denied_flag) != 0) return {};
  session_head h;
  h.at.denied = (flags & denied_flag) != 0;
  h.at.inc = r.number<std::uint64_t>();
  h.at.beat = r.number<std::uint64_t>();
  h.gate = r.number<std::uint64_t>();
  h.ttl = duration(r.number<std::int64_t>());
  h.where.device = r.number<std::uint64_t>();
  h.where.inode = r.number<std::uint64_t>();
  h.opened = take_time(r);
  h.pid = r.number<std::int64_t>();
  // With less than any session may have, the next waiter would take a living holder over at once.
  if (!r.good() || h.ttl < core::ttl_min || h.ttl > core::ttl_max) return {};
  return h;
}

}  // namespace

std::vector<std::byte> encode(const core::session_record& s) {
  std::vector<std::byte> out;
  out.reserve(256);
  writer w(out);
  w.number(format);
  w.number(s.at.denied ? denied_flag : std::uint8_t{0});
  w.number(s.at.inc);
  w.number(s.at.beat);
  w.number(s.gate);
  w.number(s.ttl.count());
  w.number(s.where.device);
  w.number(s.where.inode);
  put_time(w, s.opened);
  w.number(s.owner.pid);
  put_time(w, s.owner.started);
  for (const std::string* text : {&s.owner.host, &s.owner.boot_id, &s.owner.program,
                                  &s.owner.instance, &s.owner.label, &s.denied_by, &s.denied_why}) {
    put_text(w, *text);
  }
  return out;
}

std::optional<session_head> decode_head(bytes value) {
  reader r(value);
  return take_head(r);
}

std::optional<core::session_record> decode_session(const session_id& id, bytes value) {
  reader r(value);
  const auto head = take_head(r);
  if (!head) return {};
  core::session_record s;
  s.id = id;
  s.at = head->at;
  s.gate = head->gate;
  s.ttl = head->ttl;
  s.where = head->where;
  s.opened = head->opened;
  s.owner.pid = head->pid;
  s.owner.started = take_time(r);
  for (std::string* text : {&s.owner.host, &s.owner.boot_id, &s.owner.program, &s.owner.instance,
                            &s.owner.label, &s.denied_by, &s.denied_why}) {
    *text = take_text(r);
    if (text->size() > text_bytes_max) return {};
  }
  if (!r.good() || !r.at_end()) return {};
  return s;
}

void set_beat(std::span<std::byte> value, std::uint64_t beat) { set_number(value, beat_at, beat); }
void set_gate(std::span<std::byte> value, std::uint64_t gate) { set_number(value, gate_at, gate); }

std::vector<std::byte> encode(const stored_entry& e, std::string_view full_name) {
  std::vector<std::byte> out;
  out.reserve(entry_size + full_name.size());
  writer w(out);
  w.number(format);
  w.number(static_cast<std::uint8_t>(kind_of(e.what.how)));
  w.number(e.what.how.limit());
  w.raw(std::as_bytes(std::span(e.what.owner.bytes)));
  w.number(e.what.inc);
  w.number(e.what.request);
  put_time(w, e.what.since);
  w.number(e.slot);
  w.raw(bytes_of(full_name));
  return out;
}

std::optional<stored_entry> decode_entry(token order, bytes value) {
  reader r(value);
  if (r.number<std::uint8_t>() != format) return {};
  const auto k = r.number<std::uint8_t>();
  const auto how = mode_of(k, r.number<std::uint32_t>());
  if (!how) return {};
  stored_entry e;
  e.what.order = order;
  e.what.how = *how;
  const bytes id = r.raw(e.what.owner.bytes.size());
  if (id.size() == e.what.owner.bytes.size()) {
    std::memcpy(e.what.owner.bytes.data(), id.data(), id.size());
  }
  e.what.inc = r.number<std::uint64_t>();
  e.what.request = r.number<std::uint64_t>();
  e.what.since = take_time(r);
  e.slot = r.number<std::uint16_t>();
  if (!r.good() || r.rest().size() > lock_name::bytes_max) return {};
  return e;
}

std::string_view name_kept_in(bytes value) {
  if (value.size() <= entry_size) return {};
  const bytes name = value.subspan(entry_size);
  return {reinterpret_cast<const char*>(name.data()), name.size()};
}

}  // namespace holdfast::engines::local
