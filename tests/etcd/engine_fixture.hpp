#pragma once

#include "engines/etcd/cluster.hpp"
#include "engines/etcd/engine.hpp"
#include "engines/etcd/settings.hpp"
#include "io/thread/loop.hpp"
#include "tests/engine/conformance.hpp"
#include "tests/etcd/server.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

namespace holdfast::etcd_tests {

using namespace std::chrono_literals;
using conformance::asker;
using conformance::member;
using core::status;

/// One client of a cluster: an engine of its own, with its connections.
struct client {
  explicit client(const std::string& url) {
    auto parsed = core::store_url::parse(url);
    auto set = engines::etcd::read_settings(parsed.value());
    auto loop = io::loop::start();
    servers =
        std::make_shared<engines::etcd::cluster>(std::move(set.value()), std::move(loop.value()));
    servers->start();
    engine = std::make_shared<engines::etcd::etcd_engine>(servers);
  }

  asker ask() const { return asker(engine); }
  member join(duration ttl = 30s) const { return member(ask(), ttl); }

  /// Runs on the loop and waits.
  template <class Task>
  auto on_loop(Task task) const {
    std::promise<decltype(task())> promised;
    auto got = promised.get_future();
    servers->shared_loop()->post([&] { promised.set_value(task()); });
    return got.get();
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
  /// Once more until it is known that it was done or not; nothing but that is expected.
  member eventually_join(duration ttl = 30s) const {
    for (int i = 0; i < 100; ++i) {
      try {
        return join(ttl);
      } catch (const std::runtime_error&) {
        continue;
      }
    }
    throw std::runtime_error("no session could be opened");
  }

  std::shared_ptr<engines::etcd::cluster> servers;
  std::shared_ptr<engines::etcd::etcd_engine> engine;
};

}  // namespace holdfast::etcd_tests
