#include "engines/etcd/inspection.hpp"

#include "engines/etcd/refusal.hpp"
#include "io/thread/background.hpp"
#include "io/thread/pause.hpp"
#include "wire/protobuf.hpp"

#include <algorithm>
#include <future>
#include <tuple>
#include <utility>

namespace holdfast::engines::etcd {

namespace {

using namespace std::chrono_literals;

/// In seconds.
constexpr std::int64_t lease_most = 86'400;

struct answer {
  bool came{};
  unsigned status{};
  std::string message{};
};

/// One call to one server, waited for.
answer ask(const std::shared_ptr<cluster>& c, const std::shared_ptr<member>& m,
           std::string_view path, std::string message) {
  auto promised = std::make_shared<std::promise<answer>>();
  auto got = promised->get_future();
  const auto limit = c->set().node_timeout;
  c->shared_loop()->post([m, path, message = std::move(message), promised, limit] {
    if (!m->ready()) return promised->set_value({});
    m->call(path, message, clock::now() + limit, [promised](const io::grpc_outcome& o) {
      promised->set_value(
          {o.what == io::grpc_outcome::kind::answered, o.status, std::string(o.message)});
    });
  });
  if (got.wait_for(limit + 1s) != std::future_status::ready) return {};
  return got.get();
}

struct presence_of_members {
  std::shared_ptr<member> one_ready{};
  bool all_tried{};
};

presence_of_members look_for_members(const std::shared_ptr<cluster>& c) {
  const auto promised = std::make_shared<std::promise<presence_of_members>>();
  auto got = promised->get_future();
  c->shared_loop()->post([c, promised] {
    const bool all =
        std::ranges::all_of(c->members(), [](const auto& m) { return m->was_tried(); });
    promised->set_value({.one_ready = c->preferred(), .all_tried = all});
  });
  return got.wait_for(1s) == std::future_status::ready ? got.get() : presence_of_members{};
}

inspection::one_member look_at(const std::shared_ptr<cluster>& c,
                               const std::shared_ptr<member>& m) {
  inspection::one_member seen{.name = m->name()};
  const auto a = ask(c, m, wire::etcd::status_path, {});
  const auto status = a.came && a.status == 0 ? wire::etcd::decode_status(a.message)
                                              : std::optional<wire::etcd::status_reply>();
  const auto promised = std::make_shared<std::promise<std::pair<std::string, bool>>>();
  auto got = promised->get_future();
  c->shared_loop()->post([m, promised] { promised->set_value({m->trouble(), m->foreign()}); });
  if (got.wait_for(1s) == std::future_status::ready) {
    std::tie(seen.trouble, seen.foreign) = got.get();
  }
  if (!status) {
    if (seen.trouble.empty()) seen.trouble = "etcd server " + seen.name + " does not answer";
    return seen;
  }
  seen.ready = seen.trouble.empty();
  seen.version = status->version;
  seen.database_bytes = status->database_bytes;
  seen.database_bytes_used = status->database_bytes_used;
  for (const auto e : status->errors) seen.errors.emplace_back(e);
  return seen;
}

void look_at_history(const std::shared_ptr<cluster>& c, const std::shared_ptr<member>& m,
                     inspection& seen) {
  const wire::etcd::span key{c->keys().epoch()};
  const auto now = ask(c, m, wire::etcd::range_path, encode(wire::etcd::range{.keys = key}));
  const auto head = now.came && now.status == 0 ? wire::etcd::decode_header_of(now.message)
                                                : std::optional<wire::etcd::header>();
  if (!head) return;
  seen.revision = head->revision;
  const auto first =
      ask(c, m, wire::etcd::range_path, encode(wire::etcd::range{.keys = key, .revision = 1}));
  // What etcd answers about a revision that was compacted.
  seen.whole_history = first.came && first.status != grpc_status::out_of_range;
}

// The shortest lease it gives tells the election timeout. Nothing is attached to this one, and it
// is given back at once.
void look_at_leases(const std::shared_ptr<cluster>& c, const std::shared_ptr<member>& m,
                    inspection& seen) {
  std::string grant;
  wire::proto_writer(grant).signed_number(1, 1);
  const auto a = ask(c, m, "/etcdserverpb.Lease/LeaseGrant", grant);
  if (!a.came || a.status != 0) return;
  std::int64_t id = 0;
  wire::proto_reader in(a.message);
  wire::proto_reader::field f;
  while (in.next(f)) {
    if (f.is_number(2)) id = f.as_signed();
    if (f.is_number(3)) seen.lease_min = f.as_signed();
  }
  // Whatever a peer says, what is made of it fits; no election takes a day.
  if (seen.lease_min > lease_most) seen.lease_min = 0;
  std::string revoke;
  wire::proto_writer(revoke).signed_number(1, id);
  static_cast<void>(ask(c, m, "/etcdserverpb.Lease/LeaseRevoke", revoke));
}

}  // namespace

// The words of etcdserver/api/v3rpc/rpctypes.
bool inspection::one_member::has_no_leader() const {
  return std::ranges::find(errors, "etcdserver: no leader") != errors.end();
}

inspection inspect(const std::shared_ptr<cluster>& c) {
  inspection seen;
  auto there = look_for_members(c);
  const auto limit = clock::now() + c->set().node_timeout;
  while (!(there.one_ready && there.all_tried) && clock::now() < limit) {
    io::pause(10ms, {});
    there = look_for_members(c);
  }
  const auto m = there.one_ready;
  for (const auto& each : c->members()) seen.members.push_back(look_at(c, each));
  if (!m) return seen;
  look_at_history(c, m, seen);
  look_at_leases(c, m, seen);
  return seen;
}

result<std::string> identity_of(const cluster& c) {
  const auto limit = clock::now() + c.set().node_timeout;
  for (;;) {
    const auto id = c.identity();
    if (id != core::store_id{}) return "etcd/" + id.str();
    if (io::on_library_thread()) {
      return error(errc::would_block,
                   c.set().url +
                       ": no server has told the identity of the store yet, and a thread of the "
                       "library must not wait for one; ask from a thread of the program");
    }
    if (clock::now() >= limit) break;
    io::pause(5ms, {});
  }
  return error(errc::unavailable,
               c.set().url + ": no server told the identity of the store in time");
}

}  // namespace holdfast::engines::etcd
