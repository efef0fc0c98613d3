#include "tests/redis/store.hpp"

#include "core/store_url.hpp"

#include <cstdlib>
#include <thread>

namespace holdfast::redis_engine_tests {

using namespace std::chrono_literals;

store_test::store_test() {
  ::setenv("XDG_STATE_HOME", notes_.path().c_str(), 1);
  ::setenv("HOLDFAST_RUN_DIRECTORY", (notes_.path() + "/run").c_str(), 1);
}

std::string store_test::url(const server& s, const std::string& query) const {
  return "redis://" + s.address() + "?assume_fresh=yes&max_ttl=" + max_ttl + query;
}

engines::opened_store store_test::open(const std::string& url) {
  return engines::redis::open_redis(core::store_url::parse(url).value()).value();
}

core::open_reply store_test::await(const engines::opened_store& o, status wanted,
                                   std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    auto r = ask(o).open(conformance::draft_of(conformance::fresh_id(), 500ms));
    if (r.what == wanted || std::chrono::steady_clock::now() > until) {
      EXPECT_EQ(r.what, wanted) << r.text;
      return r;
    }
    std::this_thread::sleep_for(10ms);
  }
}

void store_test::attach(server& replica, const server& master) {
  replica.command({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
  EXPECT_TRUE(process::eventually([&] {
    return replica.command({"INFO", "replication"}).text.find("master_link_status:up") !=
           std::string::npos;
  }));
}

}  // namespace holdfast::redis_engine_tests
