#pragma once

#include "engines/zookeeper/engine.hpp"
#include "engines/zookeeper/ensemble.hpp"
#include "engines/zookeeper/settings.hpp"
#include "io/thread/loop.hpp"
#include "tests/engine/client.hpp"
#include "tests/engine/conformance.hpp"
#include "tests/process/child.hpp"
#include "tests/zookeeper/server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::zookeeper_tests {

using namespace std::chrono_literals;
using conformance::asker;
using conformance::member;
using core::status;
using engines::zookeeper::batch_result;
using engines::zookeeper::repeat;
using engines::zookeeper::zoo_request;

/// One client of an ensemble: an engine of its own, with its connection. All are on one loop, as
/// the library wants it.
struct client final : conformance::client {
  explicit client(const std::string& url) : loop(shared_loop()) {
    auto set = engines::zookeeper::read_settings(core::store_url::parse(url).value());
    servers = std::make_shared<engines::zookeeper::ensemble>(std::move(set.value()), loop);
    servers->start();
    engine = std::make_shared<engines::zookeeper::zookeeper_engine>(servers);
  }

  core::open_reply open() const {
    return ask().open(conformance::draft_of(conformance::fresh_id()));
  }
  /// What opening says, again and again until it is `wanted`.
  core::open_reply await(status wanted) const {
    core::open_reply last;
    process::eventually([&] {
      last = open();
      return last.what == wanted;
    });
    EXPECT_EQ(last.what, wanted) << last.text;
    return last;
  }
  /// Requests as they are, below the store's root.
  batch_result send(std::vector<zoo_request> requests) const {
    std::promise<batch_result> promised;
    auto got = promised.get_future();
    loop->post([&] {
      servers->send(std::move(requests), repeat::never,
                    [&](batch_result l) { promised.set_value(std::move(l)); });
    });
    return got.get();
  }
  std::uint64_t batches() const {
    return on_loop([&] { return servers->batches(); });
  }
  /// Whoever opens a session sweeps, later: until it has.
  void await_swept() const {
    EXPECT_TRUE(process::eventually([&] {
      const auto before = batches();
      send({engines::zookeeper::children_of(servers->where().queues())});
      return batches() == before + 1;
    }));
  }
  /// Which of the servers it is connected to.
  std::size_t connected_to(zookeeper_tests::servers& all) const {
    const auto name = on_loop([&] { return servers->server(); });
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all.at(i).address() == name) return i;
    }
    throw std::runtime_error("it is connected to '" + name + "'");
  }

  static std::shared_ptr<io::loop> shared_loop() {
    static std::weak_ptr<io::loop> kept;
    auto l = kept.lock();
    if (!l) l = std::move(io::loop::start().value());
    kept = l;
    return l;
  }

  std::shared_ptr<io::loop> loop;
  std::shared_ptr<engines::zookeeper::ensemble> servers;
  std::shared_ptr<engines::zookeeper::zookeeper_engine> engine;

 private:
  std::shared_ptr<core::engine> any_engine() const override { return engine; }
  io::loop& own_loop() const override { return *loop; }
};

}  // namespace holdfast::zookeeper_tests
