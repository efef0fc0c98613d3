#pragma once

#include "io/thread/loop.hpp"
#include "tests/engine/conformance.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>

namespace holdfast::conformance {

/// One client of servers: an engine of its own, with its connections, and the loop they are on.
class client {
 public:
  client() = default;
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  virtual ~client() = default;

  asker ask() const { return asker(any_engine()); }
  member join(duration ttl = std::chrono::seconds{30}) const { return member(ask(), ttl); }
  /// Once more until it is known that it was done; nothing but that is expected.
  member eventually_join(duration ttl = std::chrono::seconds{30}) const {
    for (int i = 0; i < 100; ++i) {
      try {
        return join(ttl);
      } catch (const std::runtime_error&) {
        continue;
      }
    }
    throw std::runtime_error("no session could be opened");
  }

  /// Runs on the loop and waits.
  template <class Task>
  auto on_loop(Task task) const {
    std::promise<decltype(task())> promised;
    auto got = promised.get_future();
    own_loop().post([&] { promised.set_value(task()); });
    return got.get();
  }

 private:
  virtual std::shared_ptr<core::engine> any_engine() const = 0;
  virtual io::loop& own_loop() const = 0;
};

}  // namespace holdfast::conformance
