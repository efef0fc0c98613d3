#include "bench/etcd/bare_etcd.hpp"

#include "tests/process/child.hpp"
#include "wire/etcd_replies.hpp"

#include <algorithm>
#include <future>
#include <stdexcept>
#include <utility>

namespace holdfast::bench {

using namespace wire::etcd;

bare_etcd::bare_etcd(const std::string& address) {
  loop_ = io::loop::start().value();
  io::grpc_options o;
  o.address = io::node_address::parse(address, 2379).value();
  line_ = io::grpc_connection::start(loop_, std::move(o), {});
  const bool up = process::eventually([&] {
    std::promise<bool> promised;
    loop_->post([&] { promised.set_value(line_->is_up()); });
    return promised.get_future().get();
  });
  if (!up) throw std::runtime_error("no connection to " + address);
}

bare_etcd::~bare_etcd() = default;

void bare_etcd::txn(const wire::etcd::txn& t, std::function<void(std::int64_t revision)> done) {
  line_->call({.path = txn_path, .message = encode(t), .token = {}}, time_point::max(),
              [done = std::move(done)](const io::grpc_outcome& o) {
                const auto reply = o.succeeded() ? decode_txn(o.message) : std::nullopt;
                if (!reply || !reply->succeeded) throw std::runtime_error("the bare loop failed");
                done(reply->head.revision);
              });
}

void bare_etcd::acquire(const std::string& key, std::function<void(std::int64_t)> done) {
  txn({.compares = {{.keys = {key}}}, .then = {{put{key, "value"}}}}, std::move(done));
}

void bare_etcd::release(const std::string& key, std::int64_t revision, std::function<void()> done) {
  txn({.compares = {{.keys = {key}, .number = revision}}, .then = {{erase{{key}}}}},
      [done = std::move(done)](std::int64_t) { done(); });
}

void bare_etcd::watch(const std::string& key, std::function<void()> gone) {
  static_cast<void>(line_->open_stream(
      {.path = watch_path, .message = encode(watch_deletions{{key}, 0, 1}), .token = {}}, true,
      [gone = std::move(gone)](std::string_view message) {
        const auto r = decode_watch(message);
        if (r && std::ranges::any_of(r->events, [](const auto& e) { return e.deleted; })) gone();
      },
      [](const io::grpc_outcome&) {}));
}

}  // namespace holdfast::bench
