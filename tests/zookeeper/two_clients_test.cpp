#include "tests/process/proxy.hpp"
#include "tests/zookeeper/engine_fixture.hpp"

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// What one client remembers of a queue, and what another one does there meanwhile.

namespace holdfast::zookeeper_tests {
namespace {

using engines::zookeeper::remove;

class zookeeper_two_clients : public testing::Test {
 protected:
  static servers& one() {
    static servers running;
    return running;
  }
  static std::string url() {
    static int roots = 0;
    return one().url("t" + std::to_string(++roots)) + "?node_timeout=20s";
  }
  std::size_t entries_of(const char* name) {
    const auto all = a_.ask().list();
    EXPECT_EQ(all.what, status::ok) << all.text;
    const auto* found = conformance::find_lock(all, name);
    return found == nullptr ? 0 : found->entries.size();
  }
  static std::future<core::queue_view> begin(const client& c, const core::enqueue_request& r) {
    const auto promised = std::make_shared<std::promise<core::queue_view>>();
    c.engine->enqueue(r, [promised](core::queue_view v) { promised->set_value(std::move(v)); });
    return promised->get_future();
  }

  const std::string url_{url()};
  const client a_{url_};
  const client b_{url_ + "0ms"};
  member mine_{a_.join()};
  member also_mine_{a_.join()};
  member other_{b_.join()};
};

// The version of the queue's node tells it. A try of permits looks twice, at the entries and then
// at their sessions, and another one comes while it looks the second time.
TEST_F(zookeeper_two_clients, an_entry_is_made_only_if_nobody_has_come_since_the_look) {
  const auto two = mode::permits(2);
  process::proxy slow(one().at(0).port());
  const client late("zookeeper://" + slow.address() + url_.substr(url_.rfind('/')));
  auto tries = late.join();
  late.await_swept();
  ASSERT_EQ(other_.enqueue("a", two).what, status::ok);
  auto request = tries.next_request("a", two);
  request.leave_if_busy = true;
  slow.delay(1000ms);
  const auto before = late.batches();
  auto tried = begin(late, request);
  ASSERT_TRUE(process::eventually([&] { return late.batches() == before + 2; }));
  EXPECT_EQ(mine_.enqueue("a", two).what, status::ok);
  EXPECT_EQ(tried.get().what, status::busy);
  EXPECT_EQ(entries_of("a"), 2U);
}

TEST_F(zookeeper_two_clients, who_shares_does_not_pass_a_writer_whom_another_client_put_there) {
  ASSERT_EQ(mine_.enqueue("a", mode::shared()).what, status::ok);
  ASSERT_EQ(also_mine_.enqueue("a", mode::shared()).what, status::ok);
  ASSERT_EQ(other_.enqueue("a").what, status::queued);
  EXPECT_EQ(mine_.enqueue("a", mode::shared()).what, status::queued);
}

// What the servers do by themselves with an empty container, and then its version begins anew.
TEST_F(zookeeper_two_clients, a_version_says_nothing_about_a_queue_that_was_made_again) {
  const auto held = mine_.enqueue("a", mode::shared());
  ASSERT_EQ(held.what, status::ok);
  ASSERT_EQ(mine_.leave("a", held.mine).what, status::ok);
  const auto queue = a_.servers->where().queue(lock_name("a"));
  ASSERT_TRUE(a_.send({remove(queue)}).replies.at(0).ok());
  ASSERT_EQ(other_.enqueue("a").what, status::ok);
  EXPECT_EQ(mine_.enqueue("a", mode::shared()).what, status::queued);
}

// The same while the client decides: its look is answered late, and the queue that it appends to
// has the version that it saw.
TEST_F(zookeeper_two_clients, an_entry_is_made_only_in_the_queue_that_the_look_showed) {
  process::proxy slow(one().at(0).port());
  const client late("zookeeper://" + slow.address() + url_.substr(url_.rfind('/')));
  auto tries = late.join();
  late.await_swept();
  const auto held = other_.enqueue("a", mode::permits(2));
  ASSERT_EQ(held.what, status::ok);
  auto request = tries.next_request("a", mode::permits(2));
  request.leave_if_busy = true;
  slow.delay(1000ms);
  const auto before = late.batches();
  auto tried = begin(late, request);
  // The second look, at the entry's session, is the last thing that it waits for.
  ASSERT_TRUE(process::eventually([&] { return late.batches() == before + 2; }));
  std::this_thread::sleep_for(100ms);
  slow.swallow(true);
  const auto queue = a_.servers->where().queue(lock_name("a"));
  EXPECT_EQ(other_.leave("a", held.mine).what, status::ok);
  EXPECT_TRUE(a_.send({remove(queue)}).replies.at(0).ok());
  EXPECT_EQ(other_.enqueue("a").what, status::ok);
  slow.delay(0ms);
  slow.swallow(false);
  EXPECT_EQ(tried.get().what, status::conflicting);
  EXPECT_EQ(entries_of("a"), 1U);
}

// Whose mode does not agree has its entry made before it knows that, and here it learns it late.
class zookeeper_otherwise : public zookeeper_two_clients {
 protected:
  void use(const mode& how) {
    held_ = other_.enqueue("a", how);
    ASSERT_EQ(held_.what, status::ok);
  }
  std::future<core::queue_view> use_late(const mode& how) {
    // What the test does meanwhile takes the others some round trips.
    slow_.delay(2s);
    auto answer = begin(late_, wrong_.next_request("a", how));
    EXPECT_TRUE(process::eventually([&] { return entries_of("a") == 2; }));
    return answer;
  }
  core::queue_view wait(const mode& how) {
    auto v = also_mine_.enqueue("a", how);
    EXPECT_EQ(v.what, status::queued) << v.text;
    EXPECT_EQ(entries_of("a"), 3U) << "the one that is late is there still";
    return v;
  }

  process::proxy slow_{one().at(0).port()};
  const client late_{"zookeeper://" + slow_.address() + url_.substr(url_.rfind('/'))};
  member wrong_{late_.join()};
  core::queue_view held_;
};

TEST_F(zookeeper_otherwise, makes_others_wait_until_it_is_withdrawn) {
  for (const auto& [used, otherwise] :
       {std::pair(mode::permits(2), mode::exclusive()), {mode::exclusive(), mode::permits(2)}}) {
    use(used);
    auto refused = use_late(otherwise);
    EXPECT_EQ(mine_.attempt("a", used).what, status::busy);
    const auto mine = wait(used);
    std::promise<void> told;
    const auto watch =
        a_.engine->watch({lock_name("a"), mine.mine, mine.targets}, [&] { told.set_value(); });
    // What is on its way comes as late as it was to; the rest need not.
    slow_.delay(0ms);
    ASSERT_EQ(told.get_future().wait_for(20s), std::future_status::ready);
    if (used.is_permits()) {
      EXPECT_EQ(also_mine_.confirm("a", mine.mine).what, status::ok);
    }
    EXPECT_EQ(refused.get().what, status::conflicting);
    EXPECT_EQ(other_.leave("a", held_.mine).what, status::ok);
    EXPECT_EQ(also_mine_.confirm("a", mine.mine).what, status::ok);
    EXPECT_EQ(also_mine_.leave("a", mine.mine).what, status::ok);
  }
}

// Nobody was left whom it did not agree with when it learned it.
TEST_F(zookeeper_otherwise, may_be_granted_after_all_and_then_nobody_passes_it) {
  use(mode::permits(2));
  auto granted = use_late(mode::exclusive());
  const auto mine = wait(mode::permits(2));
  EXPECT_EQ(other_.leave("a", held_.mine).what, status::ok);
  EXPECT_EQ(also_mine_.confirm("a", mine.mine).what, status::queued);
  slow_.delay(0ms);
  const auto theirs = granted.get();
  ASSERT_EQ(theirs.what, status::ok) << theirs.text;
  EXPECT_EQ(also_mine_.confirm("a", mine.mine).what, status::queued);
  EXPECT_EQ(wrong_.leave("a", theirs.mine).what, status::ok);
  EXPECT_EQ(also_mine_.confirm("a", mine.mine).what, status::ok);
}

TEST_F(zookeeper_two_clients, a_look_that_showed_a_writer_lets_nobody_share) {
  ASSERT_EQ(other_.enqueue("a").what, status::ok);
  ASSERT_EQ(mine_.attempt("a").what, status::busy);
  EXPECT_EQ(mine_.enqueue("a", mode::shared()).what, status::queued);
}

TEST_F(zookeeper_two_clients, who_shares_waits_for_a_writer_of_the_same_client) {
  ASSERT_EQ(mine_.enqueue("a").what, status::ok);
  EXPECT_EQ(also_mine_.enqueue("a", mode::shared()).what, status::queued);
  ASSERT_EQ(mine_.attempt("b").what, status::ok);
  EXPECT_EQ(also_mine_.enqueue("b", mode::shared()).what, status::queued);
}

// As after an unknown outcome: there is one entry of it, and one leave takes it away.
TEST_F(zookeeper_two_clients, a_request_that_comes_again_makes_no_second_entry) {
  ASSERT_EQ(also_mine_.enqueue("a", mode::shared()).what, status::ok);
  const auto request = mine_.next_request("a", mode::shared());
  const auto first = begin(a_, request).get();
  ASSERT_EQ(first.what, status::ok);
  const auto again = begin(a_, request).get();
  EXPECT_EQ(again.what, status::ok) << again.text;
  EXPECT_EQ(again.mine, first.mine);
  EXPECT_EQ(entries_of("a"), 2U);
}

// Somebody else's order is left alone, though it is known where it is.
TEST_F(zookeeper_two_clients, nobody_leaves_for_another) {
  const auto held = mine_.enqueue("a");
  ASSERT_EQ(held.what, status::ok);
  EXPECT_EQ(also_mine_.leave("a", held.mine).what, status::ok);
  EXPECT_EQ(other_.leave("a", held.mine).what, status::ok);
  EXPECT_EQ(entries_of("a"), 1U);
  EXPECT_EQ(also_mine_.confirm("a", held.mine).what, status::gone);
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
