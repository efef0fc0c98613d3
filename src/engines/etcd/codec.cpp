#include "engines/etcd/codec.hpp"

#include "core/lease.hpp"
#include "wire/protobuf.hpp"

/// Values are messages of protobuf whose first field is the format: another one is refused as a
/// whole, so that what somebody else wrote is damage and never guessed at.

namespace holdfast::engines::etcd {

namespace {

using wire::proto_reader;
using wire::proto_writer;
using field = proto_reader::field;

constexpr std::uint64_t format = 1;

std::string begun() {
  std::string out;
  proto_writer(out).number(1, format);
  return out;
}

std::int64_t micros(wall_time t) { return t.time_since_epoch().count(); }
wall_time wall(const field& f) { return core::wall_time_of(f.as_signed()); }

std::string_view cut(const std::string& text) {
  return std::string_view(text).substr(0, text_bytes_max);
}

void take_text(const field& f, unsigned id, std::string& to) {
  if (f.is_bytes(id)) to = f.bytes.substr(0, text_bytes_max);
}

/// Reads all fields but the format by `take`; false when the message is none of ours.
template <class Take>
bool read(std::string_view value, Take take) {
  proto_reader in(value);
  field f;
  if (!in.next(f) || !f.is_number(1) || f.number != format) return false;
  while (in.next(f)) take(f);
  return in.good();
}

}  // namespace

std::string encode(const core::session_record& s) {
  std::string out = begun();
  proto_writer w(out);
  w.signed_number(2, s.ttl.count());
  w.number(3, s.where.device);
  w.number(4, s.where.inode);
  w.signed_number(5, micros(s.opened));
  w.signed_number(6, s.owner.pid);
  w.signed_number(7, micros(s.owner.started));
  w.text(8, cut(s.owner.host));
  w.text(9, cut(s.owner.boot_id));
  w.text(10, cut(s.owner.program));
  w.text(11, cut(s.owner.instance));
  w.text(12, cut(s.owner.label));
  return out;
}

std::optional<core::session_record> decode_session(std::string_view value) {
  core::session_record s;
  const bool good = read(value, [&s](const field& f) {
    if (f.is_number(2)) s.ttl = duration(f.as_signed());
    if (f.is_number(3)) s.where.device = f.number;
    if (f.is_number(4)) s.where.inode = f.number;
    if (f.is_number(5)) s.opened = wall(f);
    if (f.is_number(6)) s.owner.pid = f.as_signed();
    if (f.is_number(7)) s.owner.started = wall(f);
    take_text(f, 8, s.owner.host);
    take_text(f, 9, s.owner.boot_id);
    take_text(f, 10, s.owner.program);
    take_text(f, 11, s.owner.instance);
    take_text(f, 12, s.owner.label);
  });
  // Outside of this no session is opened, and takeovers would come too early or never.
  if (!good || s.ttl < core::ttl_min || s.ttl > core::ttl_max) return {};
  return s;
}

std::string encode(const denial_note& n) {
  std::string out = begun();
  proto_writer w(out);
  w.text(2, cut(n.by));
  w.text(3, cut(n.why));
  return out;
}

std::optional<denial_note> decode_denial(std::string_view value) {
  denial_note n;
  const bool good = read(value, [&n](const field& f) {
    take_text(f, 2, n.by);
    take_text(f, 3, n.why);
  });
  if (!good) return {};
  return n;
}

std::string encode_entry(wall_time since) {
  std::string out = begun();
  proto_writer(out).signed_number(2, micros(since));
  return out;
}

std::optional<wall_time> decode_entry(std::string_view value) {
  wall_time since{};
  const bool good = read(value, [&since](const field& f) {
    if (f.is_number(2)) since = wall(f);
  });
  if (!good) return {};
  return since;
}

std::string encode(const cluster_epoch& e) {
  std::string out = begun();
  proto_writer w(out);
  w.number(2, e.number);
  w.number(3, e.cluster);
  w.text(4, e.store.str());
  return out;
}

std::optional<cluster_epoch> decode_epoch(std::string_view value) {
  cluster_epoch e;
  std::string store;
  const bool good = read(value, [&](const field& f) {
    if (f.is_number(2)) e.number = f.number;
    if (f.is_number(3)) e.cluster = f.number;
    take_text(f, 4, store);
  });
  const auto id = core::store_id::parse(store);
  if (!good || !id || *id == core::store_id{}) return {};
  if (e.number == 0 || e.number > epoch_max) return {};
  e.store = *id;
  return e;
}

token token_of(std::uint64_t epoch, std::int64_t create_revision) noexcept {
  const auto revision = static_cast<std::uint64_t>(create_revision);
  if (epoch == 0 || epoch > epoch_max || create_revision <= 0 || revision >> revision_bits != 0) {
    return {};
  }
  return token{(epoch - 1) << revision_bits | revision};
}

std::int64_t revision_of(token order) noexcept {
  return static_cast<std::int64_t>(order.value & ((std::uint64_t{1} << revision_bits) - 1));
}

}  // namespace holdfast::engines::etcd
