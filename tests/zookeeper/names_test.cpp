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
std::atomic<bool> zone_hangs{false};
std::atomic<int> lookups{0};

}  // namespace

/// The system's, but for names while resolver_hangs. "zk2.zone" is this machine, too, and is not
/// told while zone_hangs.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
  if (host != nullptr && std::string_view(host) == "localhost" &&
      (hints->ai_flags & AI_NUMERICHOST) == 0) {
    ++lookups;
    while (resolver_hangs) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  const bool is_in_zone = host != nullptr && std::string_view(host) == "zk2.zone";
  if (is_in_zone) {
    if ((hints->ai_flags & AI_NUMERICHOST) != 0) return EAI_NONAME;
    while (zone_hangs) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto system = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return system(is_in_zone ? "127.0.0.1" : host, port, hints, found);
}

namespace holdfast::zookeeper_tests {
namespace {

class zookeeper_names : public testing::Test {
 protected:
  ~zookeeper_names() override { resolver_hangs = zone_hangs = false; }
};

/// One server under a name that is known and under another one.
std::string url_of_two_names(const servers& s) {
  const auto address = s.at(0).address();
  const auto port = address.substr(address.find(':'));
  return "zookeeper://localhost" + port + ",zk2.zone" + port + "/t?node_timeout=2s";
}

TEST_F(zookeeper_names, one_that_is_not_answered_keeps_nobody_from_the_others) {
  servers s;
  zone_hangs = true;
  client c(url_of_two_names(s));
  EXPECT_TRUE(process::eventually([&] { return c.open().what == status::ok; }, 15s))
      << c.open().text;
}

TEST_F(zookeeper_names, one_that_is_not_answered_keeps_nobody_from_servers_that_are_back) {
  servers s;
  client c(url_of_two_names(s));
  auto m = c.eventually_join(1h);
  zone_hangs = true;
  s.at(0).kill();
  // Names are old after 10 s without a server.
  const auto begun = clock::now();
  while (clock::now() < begun + 13s) m.beat();
  EXPECT_NE(m.beat().text.find("the name 'zk2.zone' leads"), std::string::npos) << m.beat().text;
  s.at(0).launch();
  s.await();
  EXPECT_TRUE(process::eventually([&] { return m.beat().what == status::ok; }, 30s));
}

TEST_F(zookeeper_names, the_only_one_is_named_while_it_is_not_answered_and_is_used_then) {
  servers s;
  zone_hangs = true;
  client c("zookeeper://zk2.zone" + s.at(0).address().substr(9) + "/t?node_timeout=2s");
  const auto text = c.open().text;
  EXPECT_NE(text.find("the name 'zk2.zone' leads; it is slow or hangs"), std::string::npos) << text;
  zone_hangs = false;
  EXPECT_TRUE(process::eventually([&] { return c.open().what == status::ok; }, 30s));
}

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
  std::promise<batch_result> promised;
  auto answer = promised.get_future();
  c.on_loop([&] {
    c.servers->send({engines::zookeeper::create("/t/x")}, repeat::never,
                    [&](batch_result l) { promised.set_value(std::move(l)); });
    return true;
  });
  c.servers->start();
  const bool answered = answer.wait_for(10s) == std::future_status::ready;
  EXPECT_TRUE(answered) << "before the server's time is over";
  EXPECT_TRUE(process::eventually([&] { return told > 0; }));
  s.at(0).resume();
  if (answered) {
    EXPECT_EQ(answer.get().what, status::unknown);
  }
  watch.reset();
  EXPECT_TRUE(process::eventually([&] { return holder.beat().what == status::ok; }, 60s));
  EXPECT_TRUE(
      process::eventually([&] { return waiter.confirm("a", v.mine).what == status::queued; }, 60s));
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
