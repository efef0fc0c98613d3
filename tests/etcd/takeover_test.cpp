#include "tests/etcd/client_fixture.hpp"
#include "tests/etcd/freezing_disk.hpp"
#include "tests/process/page.hpp"

#include <functional>
#include <future>
#include <thread>

/// \file
/// A holder that can no longer prove that it lives, on real clusters: its deadline is over before
/// anybody else is told to hold.

namespace holdfast::etcd_tests {
namespace {

/// The holder knows of the leader only, which fails; somebody else waits at the other servers.
void expect_handed_over(servers& s, const std::function<void(std::size_t leader)>& fail,
                        const std::function<void(std::size_t leader)>& heal) {
  const auto leader = s.leader();
  const std::vector<std::size_t> others{(leader + 1) % 3, (leader + 2) % 3};
  const std::string pinned = s.url_of({leader}, "ttl=3s&node_timeout=500ms");
  const std::string beside = s.url_of(others, "ttl=60s&node_timeout=2s");
  auto old = take(pinned, "a");
  std::promise<result<lock>> promised;
  bool still_held = true;
  auto waiting = join(beside);
  fail(leader);
  // On the thread that tells it, before the caller can know.
  waiting.acquire(lock_name("a"), {.wait = 90s}, [&](result<lock> l) {
    still_held = old.held->check().has_value();
    promised.set_value(std::move(l));
  });
  auto next = promised.get_future().get();
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_FALSE(still_held) << "two hold";
  EXPECT_GT(next->token().value, old.held->token().value);

  heal(leader);
  EXPECT_FALSE(old.held->check()) << "lost is final";
  auto back = take(pinned, "b");
  EXPECT_TRUE(next->check()) << "the old holder's return changes nothing";
  give_back(std::move(back));
  const token last = next->token();
  EXPECT_TRUE(std::move(*next).release());
  EXPECT_TRUE(waiting.close());
  static_cast<void>(old.by->close());
  expect_clean(beside, "a", last);
}

TEST(etcd_takeover, a_holder_pinned_to_a_stopped_leader_is_over_before_the_next_one_begins) {
  for (int i = 0; i < process::rounds(1, 10); ++i) {
    servers s(3, quick);
    expect_handed_over(
        s, [&](std::size_t leader) { s.at(leader).stop(); },
        [&](std::size_t leader) { s.at(leader).resume(); });
  }
}

/// The case in which etcd's own leases acknowledge a lease that others have seen end.
TEST(etcd_takeover, a_holder_pinned_to_a_leader_with_a_frozen_disk_is_over_before_the_next_begins) {
  for (int i = 0; i < process::rounds(1, 10); ++i) {
    freezing_disk disk;
    if (!disk.obstacle().empty()) GTEST_SKIP() << "NOT TESTED: " << disk.obstacle();
    server_options options = quick;
    options.data_in = {disk.path()};
    servers s(3, options);
    s.lead(0);
    struct warm {
      freezing_disk& what;
      ~warm() { what.thaw(); }
    };
    const warm at_the_end{disk};  // Before the servers, who cannot be killed while they sync.
    expect_handed_over(
        s, [&](std::size_t) { disk.freeze(); }, [&](std::size_t) { disk.thaw(); });
  }
}

/// What the processes of one test say to each other.
enum slot : std::size_t { holds, may_release, waits, told, told_token, next_token, may_end };

TEST(etcd_takeover, a_process_paused_between_wait_and_return_is_not_told_that_it_holds) {
  const tests::temporary_directory files;
  const process::shared_page page(files.path() + "/page");
  const auto becomes = [&](slot which) {
    return process::eventually([&] { return page->slots[which] != 0; }, 60s);
  };
  servers s(3, quick);
  const auto url = [&](const char* ttl) { return s.url() + "?node_timeout=500ms&ttl=" + ttl; };
  for (int i = 0; i < process::rounds(2, 20); ++i) {
    for (auto& each : page->slots) each = 0;
    auto holder = process::child::fork([&] {
      auto h = take(url("60s"), "a");
      page->slots[holds] = 1;
      if (!becomes(may_release)) return 1;
      return std::move(*h.held).release() ? 0 : 2;
    });
    ASSERT_TRUE(becomes(holds));
    auto paused = process::child::fork([&] {
      auto by = join(url("2s"));
      page->slots[waits] = 1;
      auto l = by.acquire(lock_name("a"), {.wait = 90s});
      page->slots[told_token] = l ? l->token().value : 0;
      page->slots[told] = l && l->check() ? 1 : 2;
      return 0;
    });
    ASSERT_TRUE(becomes(waits));
    ASSERT_TRUE(process::eventually([&] { return s.count("t/q/a/") == 2; }));
    // Woken by the release it would look, and return.
    paused.signal(SIGSTOP);
    page->slots[may_release] = 1;
    auto next = process::child::fork([&] {
      auto h = take(url("60s"), "a");
      page->slots[next_token] = h.held->token().value;
      return becomes(may_end) && h.held->check() ? 0 : 1;
    });
    EXPECT_EQ(holder.wait(), 0);
    ASSERT_TRUE(becomes(next_token)) << "the queue stands still behind a paused process";
    paused.signal(SIGCONT);
    ASSERT_TRUE(becomes(told)) << "it waits for ever";
    EXPECT_EQ(page->slots[told], 2U)
        << "token " << page->slots[told_token] << " after " << page->slots[next_token];
    page->slots[may_end] = 1;
    EXPECT_EQ(paused.wait(), 0);
    EXPECT_EQ(next.wait(), 0);
  }
  expect_clean(url("60s"), "a", token{page->slots[next_token]});
}

}  // namespace
}  // namespace holdfast::etcd_tests
