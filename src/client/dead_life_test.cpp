#include "client/engines_fixture.hpp"
#include "client/session_core.hpp"
#include "io/process/life.hpp"
#include "io/thread/loop.hpp"
#include "tests/temporary_directory.hpp"

#include <holdfast/session.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
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
  static core::open_request record_at(const core::life_place& where) {
    core::open_request r;
    r.draft.id = id_;
    r.draft.ttl = 30s;
    r.draft.where = where;
    return r;
  }
  static void add(core::engine& engine, const core::open_request& r) {
    engine.open(r, [](const core::open_reply& reply) { ASSERT_EQ(reply.what, core::status::ok); });
  }

  tests::temporary_directory directory_;
  static constexpr session_id id_{{1, 2, 3}};
  const std::string file_{directory_.path() + "/" + id_.str()};
  std::shared_ptr<io::loop> loop_;
};

TEST_F(dead_life, stays_while_its_record_may_be_on_its_way_to_a_server) {
  open_and_close_a_session(loop_);
  EXPECT_TRUE(file_is_there());
  std::filesystem::last_write_time(file_, std::filesystem::last_write_time(file_) - 11s);
  open_and_close_a_session(loop_);
  EXPECT_FALSE(file_is_there());
}

/// As with the user's last login, or by what cleans /tmp.
TEST_F(dead_life, a_directory_that_was_removed_stops_no_new_session) {
  const std::string base = directory_.path() + "/run";
  const std::string lives = base + "/life";
  std::filesystem::create_directories(lives);
  auto opened = client::testing::memory("removed");
  opened.life_directory = lives;
  const auto has_life = [&]() -> std::optional<bool> {
    auto core = client::session_core::open(client::store_core::on(opened, 30s, 1h), {});
    if (!core) return std::nullopt;
    const bool has = (*core)->life_descriptor() >= 0;
    EXPECT_TRUE(client::session_core::make_session(*core).close());
    return has;
  };
  std::filesystem::remove_all(base);
  EXPECT_EQ(has_life(), std::nullopt) << "the store itself is gone";
  opened.loop = loop_;
  EXPECT_EQ(has_life(), true) << "made again";
  std::filesystem::remove_all(base);
  std::ofstream(base).flush();
  EXPECT_EQ(has_life(), std::nullopt) << "it is not missing, and something is wrong";
  std::filesystem::remove(base);
  std::filesystem::create_directory_symlink("/nowhere", base);
  EXPECT_EQ(has_life(), false) << "as where there was none at first";
}

TEST_F(dead_life, is_removed_at_once_where_the_process_writes_its_record_itself) {
  open_and_close_a_session(nullptr);
  EXPECT_FALSE(file_is_there());
}

// With a hundred thousand sessions each open would otherwise read them all.
TEST_F(dead_life, only_the_records_of_the_dead_are_read) {
  auto opened = client::testing::memory("only_the_dead");
  const auto engine = std::make_shared<client::testing::wrapped_engine>(opened.engine);
  opened.engine = engine;
  opened.life_directory = directory_.path();
  add(*engine, record_at(io::free_lives(directory_.path(), 1).at(0).where));
  auto core = client::session_core::open(client::store_core::on(opened, 30s, 1h), {});
  ASSERT_TRUE(core) << core.error().message();
  EXPECT_FALSE(file_is_there());
  EXPECT_EQ(engine->listings, 0);
  EXPECT_EQ(engine->glances, 1);
  engine->list([&](const core::listing& all) { EXPECT_EQ(all.sessions.size(), 1U); });
  EXPECT_TRUE(client::session_core::make_session(*core).close());
}

// As after a restored backup of the directory: the file that the owner has locked has no name any
// more, and the one that has it is free.
TEST_F(dead_life, a_copy_is_left_alone_until_the_record_that_it_is_no_proof_for_is_gone) {
  auto opened = client::testing::memory("a_copy");
  opened.life_directory = directory_.path();
  std::filesystem::remove(file_);
  const auto held = io::life_lock::hold(directory_.path(), id_);
  ASSERT_TRUE(held) << held.error().message();
  std::filesystem::copy(file_, file_ + ".copy");
  std::filesystem::rename(file_ + ".copy", file_);
  const auto r = record_at(held->place());
  add(*opened.engine, r);
  for (const std::size_t living : {2U, 1U}) {
    auto core = client::session_core::open(client::store_core::on(opened, 30s, 1h), {});
    ASSERT_TRUE(core) << core.error().message();
    opened.engine->list([&](const core::listing& all) { EXPECT_EQ(all.sessions.size(), living); });
    EXPECT_EQ(file_is_there(), living == 2U);
    EXPECT_TRUE(client::session_core::make_session(*core).close());
    opened.engine->list([&](const core::listing& all) {
      for (const auto& s : all.sessions) opened.engine->take({s.id, s.at}, [](auto) {});
    });
  }
}

TEST_F(dead_life, many_dead_are_looked_at_a_few_at_a_time) {
  for (std::uint8_t n = 1; n < 100; ++n) {
    std::ofstream(directory_.path() + "/" + session_id{{9, n}}.str()).flush();
  }
  auto opened = client::testing::memory("many_dead");
  const auto engine = std::make_shared<client::testing::wrapped_engine>(opened.engine);
  opened.engine = engine;
  opened.life_directory = directory_.path();
  auto core = client::session_core::open(client::store_core::on(opened, 30s, 1h), {});
  ASSERT_TRUE(core) << core.error().message();
  EXPECT_EQ(engine->glances, 4) << "100 files, 32 in each";
  EXPECT_TRUE(client::session_core::make_session(*core).close());
}

}  // namespace
}  // namespace holdfast
