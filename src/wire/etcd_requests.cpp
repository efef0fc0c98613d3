#include "wire/etcd_requests.hpp"

#include "wire/protobuf.hpp"

#include <utility>

/// Fields are numbered as in etcd's rpc.proto. What has its default value is left out, as proto3
/// does: only a member of a oneof is written when it is zero.

namespace holdfast::wire::etcd {

namespace {

std::string encode(const put& p) {
  std::string out;
  proto_writer w(out);
  w.text(1, p.key);
  w.text(2, p.value);
  return out;
}

std::string encode(const erase& e) {
  std::string out;
  proto_writer w(out);
  w.text(1, e.keys.key);
  w.text(2, e.keys.end);
  return out;
}

// The compared number is a member of a oneof and there even when it is zero.
unsigned number_field(compare::target t) {
  switch (t) {
    case compare::target::version:
      return 4;
    case compare::target::create:
      return 5;
    default:
      return 6;
  }
}

std::string encode(const compare& c) {
  constexpr unsigned range_end = 64;
  std::string out;
  proto_writer w(out);
  w.number(1, static_cast<std::uint64_t>(c.how));
  w.number(2, static_cast<std::uint64_t>(c.what));
  w.text(3, c.keys.key);
  w.chosen_number(number_field(c.what), c.number);
  w.text(range_end, c.keys.end);
  return out;
}

std::string encode(const op& o) {
  std::string out;
  proto_writer w(out);
  if (const auto* r = std::get_if<range>(&o.what)) w.message(1, etcd::encode(*r));
  if (const auto* p = std::get_if<put>(&o.what)) w.message(2, encode(*p));
  if (const auto* e = std::get_if<erase>(&o.what)) w.message(3, encode(*e));
  if (const auto* t = std::get_if<std::shared_ptr<const txn>>(&o.what)) {
    w.message(4, etcd::encode(**t));
  }
  return out;
}

}  // namespace

op nested(txn t) { return {std::make_shared<const txn>(std::move(t))}; }

std::string encode(const range& r) {
  std::string out;
  proto_writer w(out);
  w.text(1, r.keys.key);
  w.text(2, r.keys.end);
  w.signed_number(3, r.limit);
  w.signed_number(4, r.revision);
  w.number(8, r.keys_only ? 1 : 0);
  w.number(9, r.count_only ? 1 : 0);
  w.signed_number(12, r.created_from);
  w.signed_number(13, r.created_until);
  return out;
}

std::string encode(const txn& t) {
  std::string out;
  proto_writer w(out);
  for (const auto& c : t.compares) w.message(1, encode(c));
  for (const auto& o : t.then) w.message(2, encode(o));
  for (const auto& o : t.otherwise) w.message(3, encode(o));
  return out;
}

std::string encode_authenticate(std::string_view user, std::string_view password) {
  std::string out;
  proto_writer w(out);
  w.text(1, user);
  w.text(2, password);
  return out;
}

std::string encode(const watch_deletions& w) {
  // A repeated enum is packed; NOPUT is zero.
  constexpr std::string_view no_put{"\0", 1};
  std::string create;
  proto_writer inner(create);
  inner.text(1, w.keys.key);
  inner.text(2, w.keys.end);
  inner.signed_number(3, w.start_revision);
  inner.message(5, no_put);
  inner.signed_number(7, w.watch_id);
  std::string out;
  proto_writer(out).message(1, create);
  return out;
}

std::string encode_watch_cancel(std::int64_t watch_id) {
  std::string cancel;
  proto_writer(cancel).signed_number(1, watch_id);
  std::string out;
  proto_writer(out).message(2, cancel);
  return out;
}

}  // namespace holdfast::wire::etcd
