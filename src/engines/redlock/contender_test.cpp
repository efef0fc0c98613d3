#include "engines/redlock/contender.hpp"

#include "core/store_url.hpp"
#include "engines/redlock/settings.hpp"
#include "io/loop.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::engines::redlock {
namespace {

/// Nobody: it was told of the end of its session before.
class deaf final : public contender::owner {
 public:
  void first(const contender::ticket&, core::reply) override {}
  bool held(const contender::ticket&, round::result_of&) override { return false; }
  void late(const contender::ticket&, node_index) override {}
  void unrecorded(node_set) override {}
  void hindered(const contender::ticket&, std::string) override {}
  void later(const contender::ticket&, core::reply) override {}
};

/// On nodes that nobody ever connects to.
class redlock_contender : public ::testing::Test {
 protected:
  /// Who stands in a line and the line keep each other.
  ~redlock_contender() override {
    while (!made_.empty()) {
      made_.back()->cancel();
      made_.pop_back();
    }
  }
  std::shared_ptr<contender> waiting() {
    round::order o;
    o.name = "a";
    o.ttl = std::chrono::seconds{5};
    o.timeout = std::chrono::milliseconds{50};
    made_.push_back(std::make_shared<contender>(nodes_, lines_, std::move(o), true, told_,
                                                contender::ticket{1, 1}));
    return made_.back();
  }

  std::shared_ptr<io::loop> loop_{*io::loop::start()};
  std::shared_ptr<cluster> nodes_{std::make_shared<cluster>(
      *read_settings(*core::store_url::parse("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")),
      loop_)};
  std::shared_ptr<lines> lines_{std::make_shared<lines>(nodes_)};
  std::shared_ptr<deaf> told_{std::make_shared<deaf>()};
  std::vector<std::shared_ptr<contender>> made_;
};

TEST_F(redlock_contender, one_that_was_cancelled_before_it_lined_up_stands_in_nobodys_way) {
  const auto gone = waiting();
  gone->cancel();
  gone->start();
  const auto next = waiting();
  EXPECT_EQ(lines_->join("a", next), lines::place::first);
}

TEST_F(redlock_contender, one_that_is_cancelled_in_the_line_lets_the_next_one_come_first) {
  const auto before = waiting();
  ASSERT_EQ(lines_->join("a", before), lines::place::first);
  const auto gone = waiting();
  gone->start();
  gone->cancel();
  lines_->leave("a", *before, false);
  EXPECT_EQ(lines_->join("a", waiting()), lines::place::first);
}

}  // namespace
}  // namespace holdfast::engines::redlock
