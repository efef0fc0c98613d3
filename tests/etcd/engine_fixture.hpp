#pragma once

#include "engines/etcd/cluster.hpp"
#include "engines/etcd/engine.hpp"
#include "engines/etcd/settings.hpp"
#include "io/thread/loop.hpp"
#include "tests/engine/client.hpp"
#include "tests/engine/conformance.hpp"
#include "tests/etcd/server.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::etcd_tests {

using namespace std::chrono_literals;
using conformance::asker;
using conformance::member;
using core::status;

/// One client of a cluster: an engine of its own, with its connections.
struct client final : conformance::client {
  explicit client(const std::string& url) {
    auto parsed = core::store_url::parse(url);
    auto set = engines::etcd::read_settings(parsed.value());
    auto loop = io::loop::start();
    servers =
        std::make_shared<engines::etcd::cluster>(std::move(set.value()), std::move(loop.value()));
    engine = std::make_shared<engines::etcd::etcd_engine>(servers);
    servers->start();
  }

  /// How many calls were sent to all servers.
  std::uint64_t calls() const {
    return on_loop([&] {
      std::uint64_t all = 0;
      for (const auto& m : servers->members()) all += m->count().calls;
      return all;
    });
  }
  /// Which server is asked first.
  std::size_t preferred() const {
    return on_loop([&]() -> std::size_t {
      const auto m = servers->preferred();
      for (std::size_t i = 0; i < servers->members().size(); ++i) {
        if (servers->members()[i] == m) return i;
      }
      return servers->members().size();
    });
  }

  /// Another epoch of the same store, into its record.
  status write_epoch(std::uint64_t number, std::uint64_t cluster) const {
    const wire::etcd::txn written{
        .then = {{wire::etcd::put{
            servers->keys().epoch(),
            encode(engines::etcd::cluster_epoch{number, cluster, servers->identity()})}}}};
    std::promise<status> ended;
    servers->shared_loop()->post([&] {
      servers->txn(written, engines::etcd::repeat::never,
                   [&](const engines::etcd::txn_result& r) { ended.set_value(r.what); });
    });
    return ended.get_future().get();
  }

  std::shared_ptr<engines::etcd::cluster> servers;
  std::shared_ptr<engines::etcd::etcd_engine> engine;

 private:
  std::shared_ptr<core::engine> any_engine() const override { return engine; }
  io::loop& own_loop() const override { return *servers->shared_loop(); }
};

}  // namespace holdfast::etcd_tests
