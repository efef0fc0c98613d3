#pragma once

#include "engines/redis/open.hpp"
#include "tests/engine/conformance.hpp"
#include "tests/redis_server/server.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace holdfast::redis_engine_tests {

using conformance::asker;
using conformance::member;
using core::status;
using redis_tests::server;

/// A server and its store, opened as often as a test likes; notes and life locks go to a directory
/// of the test's.
class store_test : public testing::Test {
 protected:
  store_test();

  /// The store's URL: `query` is added behind `max_ttl` and `assume_fresh=yes`.
  std::string url(const server& s, const std::string& query = {}) const;
  /// A URL as it is.
  static engines::opened_store open(const std::string& url);
  static asker ask(const engines::opened_store& o) { return asker(o.engine); }
  /// What opening a session says, again and again until it is `wanted`; fails after `limit`.
  static core::open_reply await(const engines::opened_store& o, status wanted,
                                std::chrono::milliseconds limit = std::chrono::seconds{60});

  /// Makes it a replica, and waits until it is in step.
  static void attach(server& replica, const server& master);

  std::string max_ttl{"1h"};  ///< And so how long a wait is.

 private:
  tests::temporary_directory notes_;
};

}  // namespace holdfast::redis_engine_tests
