#include "tests/zookeeper/engine_fixture.hpp"

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <string_view>
#include <thread>

/// The servers' names are looked up again, by a resolver that takes its time, and a connection is
/// made in the place of another.

namespace {

std::atomic<bool> resolver_hangs{false};
std::atomic<int> lookups{0};

}  // namespace

/// The system's, but for names while resolver_hangs.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
  if (host != nullptr && std::string_view(host) == "localhost" &&
      (hints->ai_flags & AI_NUMERICHOST) == 0) {
    ++lookups;
    while (resolver_hangs) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto system = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return system(host, port, hints, found);
}

namespace holdfast::zookeeper_tests {
namespace {

class zookeeper_names : public testing::Test {
 protected:
  ~zookeeper_names() override { resolver_hangs = false; }
};

// Two lookups would make two connections, of which one takes the place of the other.
TEST_F(zookeeper_names, no_lookup_begins_while_another_one_is_under_way) {
  servers s;
  const auto address = s.at(0).address();
  client c("zookeeper://localhost" + address.substr(address.find(':')) + "/t?node_timeout=300ms");
  auto m = c.eventually_join(1h);
  resolver_hangs = true;
  const int before = lookups;
  s.at(0).kill();
  // Names are old after 10 s without a server.
  ASSERT_TRUE(process::eventually(
      [&] {
        m.beat();
        return lookups > before;
      },
      60s));
  const auto begun = clock::now();
  while (clock::now() < begun + 12s) m.beat();
  EXPECT_EQ(lookups, before + 1);
  s.at(0).launch();
  s.await();
  resolver_hangs = false;
  EXPECT_TRUE(process::eventually([&] { return m.beat().what == status::ok; }, 60s));
}

TEST_F(zookeeper_names, what_is_under_way_is_answered_when_another_connection_is_made) {
  servers s;
  client c(s.url() + "?node_timeout=20s");
  auto holder = c.eventually_join(1h);
  auto waiter = c.eventually_join(1h);
  const auto held = holder.enqueue("a");
  ASSERT_EQ(held.what, status::ok) << held.text;
  const auto v = waiter.enqueue("a");
  ASSERT_EQ(v.what, status::queued) << v.text;
  std::atomic<int> told{0};
  auto watch = c.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { ++told; });
  ASSERT_EQ(c.ask().list().what, status::ok) << "the watch stands";
  s.at(0).stop();
  std::promise<landing> promised;
  auto landed = promised.get_future();
  c.on_loop([&] {
    c.servers->fly({engines::zookeeper::create("/t/x")}, repeat::never,
                   [&](landing l) { promised.set_value(std::move(l)); });
    return true;
  });
  c.servers->start();
  const bool answered = landed.wait_for(10s) == std::future_status::ready;
  EXPECT_TRUE(answered) << "before the server's time is over";
  EXPECT_TRUE(process::eventually([&] { return told > 0; }));
  s.at(0).resume();
  if (answered) {
    EXPECT_EQ(landed.get().what, status::unknown);
  }
  watch.reset();
  EXPECT_TRUE(process::eventually([&] { return holder.beat().what == status::ok; }, 60s));
  EXPECT_TRUE(
      process::eventually([&] { return waiter.confirm("a", v.mine).what == status::queued; }, 60s));
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
