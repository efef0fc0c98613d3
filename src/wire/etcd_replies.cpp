#include "wire/etcd_replies.hpp"

#include "wire/protobuf.hpp"

/// Fields are numbered as in etcd's rpc.proto and kv.proto; those that nobody here asks for are
/// passed over. The bounds are for a peer that is no etcd: what is read takes no more memory than a
/// fixed multiple of the message.

namespace holdfast::wire::etcd {

namespace {

using field = proto_reader::field;

// A transaction in a transaction is all that is ever asked for.
constexpr int depth_max = 3;

bool read(std::string_view message, header& h) {
  proto_reader in(message);
  field f;
  while (in.next(f)) {
    if (f.is_number(1)) h.cluster = f.number;
    if (f.is_number(2)) h.member = f.number;
    if (f.is_number(3)) h.revision = f.as_signed();
    if (f.is_number(4)) h.term = f.number;
  }
  return in.good() && h.revision >= 0;
}

bool read(std::string_view message, key_value& kv) {
  proto_reader in(message);
  field f;
  while (in.next(f)) {
    if (f.is_bytes(1)) kv.key = f.bytes;
    if (f.is_number(2)) kv.create = f.as_signed();
    if (f.is_number(3)) kv.mod = f.as_signed();
    if (f.is_number(4)) kv.version = f.as_signed();
    if (f.is_bytes(5)) kv.value = f.bytes;
  }
  return in.good() && kv.create >= 0 && kv.mod >= 0 && kv.version >= 0;
}

// An element of a few bytes must not become many: empty ones are no answer of etcd's.
bool read(std::string_view message, range_reply& r) {
  proto_reader in(message);
  field f;
  while (in.next(f)) {
    if (f.is_bytes(2)) {
      if (f.bytes.size() < 3 || !read(f.bytes, r.all.emplace_back())) return false;
    }
    if (f.is_number(3)) r.more = f.number != 0;
    if (f.is_number(4)) r.count = f.as_signed();
  }
  return in.good() && r.count >= 0;
}

bool read(std::string_view message, txn_reply& t, int depth);

bool read(std::string_view message, op_reply& o, int depth) {
  proto_reader in(message);
  field f;
  while (in.next(f)) {
    if (f.is_bytes(1) && !read(f.bytes, o.range)) return false;
    if (f.is_bytes(3)) {
      proto_reader inner(f.bytes);
      field g;
      while (inner.next(g)) {
        if (g.is_number(2)) o.deleted = g.as_signed();
      }
      if (!inner.good()) return false;
    }
    if (f.is_bytes(4)) {
      if (!o.nested.empty() || !read(f.bytes, o.nested.emplace_back(), depth + 1)) return false;
    }
  }
  return in.good();
}

bool read(std::string_view message, txn_reply& t, int depth) {
  constexpr std::size_t ops_max = 1024;
  if (depth > depth_max) return false;
  proto_reader in(message);
  field f;
  while (in.next(f)) {
    if (f.is_bytes(1) && !read(f.bytes, t.head)) return false;
    if (f.is_number(2)) t.succeeded = f.number != 0;
    if (f.is_bytes(3)) {
      if (t.ops.size() == ops_max || !read(f.bytes, t.ops.emplace_back(), depth)) return false;
    }
  }
  return in.good();
}

bool read(std::string_view message, watch_event& e) {
  proto_reader in(message);
  field f;
  while (in.next(f)) {
    // DELETE of kv.proto's EventType; PUT is zero and left out.
    if (f.is_number(1)) e.deleted = f.number == 1;
    if (f.is_bytes(2) && !read(f.bytes, e.kv)) return false;
  }
  return in.good();
}

}  // namespace

std::optional<txn_reply> decode_txn(std::string_view message) {
  txn_reply t;
  if (!read(message, t, 1)) return {};
  return t;
}

std::optional<watch_reply> decode_watch(std::string_view message) {
  watch_reply w;
  proto_reader in(message);
  field f;
  while (in.next(f)) {
    if (f.is_bytes(1) && !read(f.bytes, w.head)) return {};
    if (f.is_number(2)) w.watch_id = f.as_signed();
    if (f.is_number(3)) w.created = f.number != 0;
    if (f.is_number(4)) w.canceled = f.number != 0;
    if (f.is_number(5)) w.compacted = f.as_signed();
    if (f.is_bytes(6)) w.reason = f.bytes;
    if (f.is_bytes(11)) {
      if (f.bytes.size() < 3 || !read(f.bytes, w.events.emplace_back())) return {};
    }
  }
  if (!in.good()) return {};
  return w;
}

std::optional<status_reply> decode_status(std::string_view message) {
  constexpr std::size_t errors_max = 64;
  status_reply s;
  proto_reader in(message);
  field f;
  while (in.next(f)) {
    if (f.is_bytes(1) && !read(f.bytes, s.head)) return {};
    if (f.is_bytes(2)) s.version = f.bytes;
    if (f.is_number(3)) s.database_bytes = f.as_signed();
    if (f.is_number(4)) s.leader = f.number;
    if (f.is_bytes(8) && s.errors.size() < errors_max) s.errors.push_back(f.bytes);
    if (f.is_number(9)) s.database_bytes_used = f.as_signed();
    if (f.is_number(10)) s.learner = f.number != 0;
  }
  if (!in.good()) return {};
  return s;
}

std::optional<std::string_view> decode_authenticate(std::string_view message) {
  std::string_view token;
  proto_reader in(message);
  field f;
  while (in.next(f)) {
    if (f.is_bytes(2)) token = f.bytes;
  }
  if (!in.good() || token.empty()) return {};
  return token;
}

std::optional<header> decode_header_of(std::string_view message) {
  header h;
  proto_reader in(message);
  field f;
  while (in.next(f)) {
    if (f.is_bytes(1) && !read(f.bytes, h)) return {};
  }
  if (!in.good()) return {};
  return h;
}

}  // namespace holdfast::wire::etcd
