#include "client/engines_test.hpp"
#include "client/session_core.hpp"
#include "io/life.hpp"
#include "io/loop.hpp"
#include "tests/temporary_directory.hpp"

#include <holdfast/session.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// A store whose engine has a loop, as those with servers have, and the file of a session that died
/// before it had a record.
class dead_life : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loop = io::loop::start();
    ASSERT_TRUE(loop) << loop.error().message();
    loop_ = *loop;
    std::ofstream(file_).flush();
  }
  void open_and_close_a_session(const std::shared_ptr<io::loop>& on) {
    auto opened = client::testing::memory("dead_life");
    opened.life_directory = directory_.path();
    opened.loop = on;
    auto core = client::session_core::open(client::store_core::on(opened, 30s, 1h), {});
    ASSERT_TRUE(core) << core.error().message();
    EXPECT_TRUE(client::session_core::make_session(*core).close());
  }
  bool file_is_there() const { return std::filesystem::exists(file_); }

  tests::temporary_directory directory_;
  const std::string file_{directory_.path() + "/" + session_id{{1, 2, 3}}.str()};
  std::shared_ptr<io::loop> loop_;
};

TEST_F(dead_life, stays_while_its_record_may_be_on_its_way_to_a_server) {
  open_and_close_a_session(loop_);
  EXPECT_TRUE(file_is_there());
  std::filesystem::last_write_time(file_, std::filesystem::last_write_time(file_) - 11s);
  open_and_close_a_session(loop_);
  EXPECT_FALSE(file_is_there());
}

TEST_F(dead_life, is_removed_at_once_where_the_process_writes_its_record_itself) {
  open_and_close_a_session(nullptr);
  EXPECT_FALSE(file_is_there());
}

}  // namespace
}  // namespace holdfast
