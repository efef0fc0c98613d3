#pragma once

#include "engines/etcd/cluster.hpp"
#include "io/grpc/grpc_peer_fixture.hpp"
#include "io/thread/loop.hpp"
#include "wire/etcd_requests.hpp"
#include "wire/protobuf.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// etcd servers that answer what and when the test wants. With real ones: tests/etcd.
namespace holdfast::engines::etcd {

using namespace std::chrono_literals;

inline constexpr std::uint64_t ours = 7;
inline constexpr std::uint64_t another = 8;

template <class Fill>
std::string made(Fill fill) {
  std::string bytes;
  wire::proto_writer w(bytes);
  fill(w);
  return bytes;
}

inline std::string header_of(std::uint64_t cluster, std::int64_t revision = 0) {
  return made([&](auto& w) {
    w.number(1, cluster);
    w.signed_number(3, revision);
  });
}
inline std::string token_reply() {
  return made([](auto& w) { w.text(2, "token"); });
}
inline std::string status_reply(std::uint64_t cluster = ours, const char* version = "3.5.0") {
  return made([&](auto& w) {
    w.message(1, header_of(cluster));
    w.text(2, version);
  });
}
inline std::string txn_reply(std::uint64_t cluster, std::int64_t revision = 0) {
  return made([&](auto& w) {
    w.message(1, header_of(cluster, revision));
    w.number(2, 1);
  });
}
inline const cluster_epoch first_epoch{.number = 1, .cluster = ours, .store = {session_id{{1}}}};

/// What the key of the epoch has, since its mod revision 5, and the newest revision of the server.
inline std::string epoch_reply_of(const std::string& value, std::uint64_t cluster = ours,
                                  std::int64_t revision = 0) {
  const auto kv = made([&](auto& w) {
    w.text(1, "t/epoch");
    w.number(3, 5);
    w.text(5, value);
  });
  const auto range = made([&](auto& w) { w.message(2, kv); });
  const auto op = made([&](auto& w) { w.message(1, range); });
  return made([&](auto& w) {
    w.message(1, header_of(cluster, revision));
    w.message(3, op);
  });
}
inline std::string epoch_reply(const cluster_epoch& record = first_epoch,
                               std::uint64_t cluster = ours, std::int64_t revision = 0) {
  return epoch_reply_of(encode(record), cluster, revision);
}

/// By which a server shows whose it is.
inline std::string question() {
  return encode(wire::etcd::txn{.then = {{wire::etcd::range{.keys = {"t/epoch"}}}}});
}
/// From the record of epoch_reply(), and from no other.
inline std::string raise_to(const cluster_epoch& next) {
  const wire::etcd::range own{.keys = {"t/epoch"}};
  return encode(wire::etcd::txn{
      .compares = {{.keys = {"t/epoch"}, .what = wire::etcd::compare::target::mod, .number = 5}},
      .then = {{wire::etcd::put{"t/epoch", encode(next)}}, {own}},
      .otherwise = {{own}}});
}

inline cluster_epoch epoch_of(std::uint64_t number, std::uint64_t cluster) {
  return {.number = number, .cluster = cluster, .store = first_epoch.store};
}

/// One connection of a server.
class line {
 public:
  explicit line(const io::peer::client& c) : client_(c), in_(c) { c.write(io::frames::settings()); }

  char request() { return in_.request(); }
  /// What the last request said.
  const std::string& asked() const { return in_.asked(); }
  void answer(char stream, const std::string& reply) {
    client_.write(io::frames::head(stream) + io::frames::message(reply, stream) +
                  io::frames::trailers("0", stream));
  }
  void answer_next(const std::string& reply) { answer(request(), reply); }
  void fail(char stream, const char* status, const char* text) {
    client_.write(io::frames::frame(1, io::frames::end_headers | io::frames::end_stream, stream,
                                    "\x88" + io::frames::field("grpc-status", status) +
                                        io::frames::field("grpc-message", text)));
  }
  void log_in(std::uint64_t cluster = ours) {
    answer_next(token_reply());
    answer_next(status_reply(cluster));
  }
  /// The client knows its epoch, and has nothing else to ask.
  void become_known() {
    log_in();
    answer_next(epoch_reply());
    has_taken_all();
  }
  /// Every request, until the client leaves.
  void fail_all(const char* status, const char* text) {
    for (auto stream = request(); stream > 0; stream = request()) fail(stream, status, text);
  }
  /// The same, before any is looked at (RFC 9113 section 8.7).
  void refuse_all() { reset_all(7); }
  /// The same, for a fault of its own: whether it has looked at them is not known.
  void break_all() { reset_all(2); }
  bool has_taken_all() { return in_.answers_ping(); }
  /// Requests that came and are not answered.
  int count_requests() { return in_.requests_before_ping(); }
  void wait_for_the_end() {
    while (!client_.read().empty()) {
    }
  }

 private:
  void reset_all(unsigned code) {
    for (auto stream = request(); stream > 0; stream = request()) {
      client_.write(io::frames::reset(code, stream));
    }
  }

  const io::peer::client& client_;
  io::frames::reader in_;
};

/// Opened in one thread, for another one that waits. It stays open: where a client lost its
/// connection to a busy machine, the next one opens it again.
class gate {
 public:
  void open() {
    if (!is_open_.test_and_set()) open_.set_value();
  }
  bool wait() const { return opened_.wait_for(10s) == std::future_status::ready; }

 private:
  std::atomic_flag is_open_;
  std::promise<void> open_;
  std::future<void> opened_{open_.get_future()};
};

inline std::shared_ptr<cluster> cluster_of(std::vector<io::node_address> servers,
                                           const std::shared_ptr<io::loop>& loop) {
  return std::make_shared<cluster>(settings{.servers = std::move(servers),
                                            .prefix = "t/",
                                            .user = "me",
                                            .password = "secret",
                                            .node_timeout = 8s},
                                   loop);
}

/// A client of such servers, on a loop of its own.
struct client {
  explicit client(std::vector<io::node_address> of) : servers(cluster_of(std::move(of), loop)) {
    servers->start();
  }
  const std::shared_ptr<io::loop> loop{std::move(io::loop::start().value())};
  const std::shared_ptr<cluster> servers;
};

/// A server that has told a client the epoch, which opens `known`, and goes on with `take`; `left`
/// opens when the client has gone.
struct known_server {
  explicit known_server(std::function<void(line&)> take)
      : peer([this, then = std::move(take)](const io::peer::client& c, int) {
          line l(c);
          l.become_known();
          known.open();
          then(l);
          l.wait_for_the_end();
          left.open();
        }) {}
  gate known;
  gate left;
  io::peer peer;
};

inline core::reply reply_to_one(io::loop& loop, const std::shared_ptr<cluster>& servers,
                                repeat how = repeat::never) {
  const auto ends = std::make_shared<std::promise<core::reply>>();
  auto ended = ends->get_future();
  loop.post([servers, how, ends] {
    servers->txn({}, how, [ends](const txn_result& r) { ends->set_value(r); });
  });
  if (ended.wait_for(20s) == std::future_status::ready) return ended.get();
  return {core::status::unknown, "no answer"};
}

inline core::status outcome_of_one(io::loop& loop, const std::shared_ptr<cluster>& servers,
                                   repeat how = repeat::never) {
  return reply_to_one(loop, servers, how).what;
}

}  // namespace holdfast::engines::etcd
