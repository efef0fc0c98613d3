// Any bytes as what an etcd server sends: frames, messages and stored values are read or refused,
// within their bounds, and what is read is within what it may be.
#include "wire/etcd_replies.hpp"

#include "core/lease.hpp"
#include "engines/etcd/codec.hpp"
#include "engines/etcd/keys.hpp"
#include "engines/etcd/tables.hpp"
#include "fuzz/target.hpp"
#include "wire/grpc_frame.hpp"
#include "wire/protobuf.hpp"

#include <string>
#include <string_view>

using namespace holdfast;
using namespace holdfast::engines::etcd;

namespace {

void must_be_sound(const wire::etcd::range_reply& r, std::size_t bytes) {
  // A key and its value take more bytes on the wire than a fiftieth of what they are kept in.
  MUST(r.all.size() <= bytes / 3);
  for (const auto& kv : r.all) MUST(kv.create >= 0 && kv.mod >= 0 && kv.version >= 0);
}

void tables(const wire::etcd::range_reply& r) {
  const key_space keys("t/");
  session_table sessions;
  sessions.add(keys, r);
  for (const auto& [id, record] : sessions.all()) {
    MUST(record.id == id && record.ttl >= core::ttl_min && record.ttl <= core::ttl_max);
  }
  const entry_table entries(keys, 1, r);
  for (const auto& e : entries.all()) {
    MUST(e.what.order.value > 0 && e.what.order <= token_max && e.name.check());
  }
  static_cast<void>(entries.live(sessions));
}

void transaction(std::string_view m) {
  const auto t = wire::etcd::decode_txn(m);
  if (!t) return;
  for (const auto& o : t->ops) {
    must_be_sound(o.range, m.size());
    tables(o.range);
  }
}

/// The reply to a transaction whose one operation was a read with the answer `m`.
std::string with_one_range(std::string_view m) {
  std::string op;
  wire::proto_writer(op).message(1, m);
  std::string txn;
  wire::proto_writer(txn).message(3, op);
  return txn;
}

void messages(std::string_view m) {
  transaction(m);
  transaction(with_one_range(m));
  if (const auto w = wire::etcd::decode_watch(m)) MUST(w->events.size() <= m.size() / 3);
  static_cast<void>(wire::etcd::decode_status(m));
  if (const auto token = wire::etcd::decode_authenticate(m)) MUST(!token->empty());
  static_cast<void>(wire::etcd::decode_header_of(m));
}

void values(std::string_view v) {
  if (const auto s = decode_session(v)) MUST(decode_session(encode(*s)).has_value());
  static_cast<void>(decode_denial(v));
  static_cast<void>(decode_entry(v));
  if (const auto e = decode_epoch(v)) MUST(e->number > 0 && e->number <= epoch_max);
  const key_space keys("t/");
  if (const auto e = keys.parse_entry(v)) {
    const auto again =
        keys.entry(e->name, e->what.how, e->what.owner, e->what.inc, e->what.request);
    MUST(keys.parse_entry(again).has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  messages(all);
  values(all);
  wire::grpc_reader in(1024);
  in.feed(all);
  while (const auto m = in.next()) messages(*m);
  const auto text = wire::grpc_text(all);
  MUST(text.size() <= 512);
  return 0;
}
