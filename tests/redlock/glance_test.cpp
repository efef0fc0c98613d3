#include "core/store_url.hpp"
#include "engines/redlock/engine.hpp"
#include "engines/redlock/open.hpp"
#include "tests/redlock/five_nodes.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

/// What the nodes together say of one session.

namespace holdfast::redlock_tests {

namespace {

class redlock_glance : public testing::Test {
 protected:
  five_nodes nodes;
};

/// The engine below the sessions of this process at `url`.
std::shared_ptr<core::engine> engine_at(const std::string& url) {
  return engines::redlock::open_redlock(*core::store_url::parse(url)).value().engine;
}
core::glance_reply glance_at(core::engine& e, const session_id& id) {
  std::promise<core::glance_reply> promised;
  e.glance({.whom = {id}}, [&](core::glance_reply r) { promised.set_value(std::move(r)); });
  return promised.get_future().get();
}

/// What a node that lost its state does not know may be so all the same.
///
/// Fault matrix: a majority lost its state, and the others lost a session's record | nobody says
/// that there is no such session
TEST_F(redlock_glance, nodes_that_lost_their_state_do_not_say_who_is_not_there) {
  nodes.init();
  const session s = nodes.open("ttl=60s");
  const auto engine = engine_at(nodes.url("ttl=60s"));
  ASSERT_EQ(glance_at(*engine, s.id()).there.size(), 1U);
  for (std::size_t i = 3; i < 5; ++i) {
    nodes[i].command({"DEL", "holdfast:session:" + s.id().str()});
  }
  nodes.restart_empty(0, 3);
  for (int i = 0; i < 5; ++i) {
    const auto seen = glance_at(*engine, s.id());
    EXPECT_EQ(seen.what, core::status::unavailable);
    EXPECT_TRUE(seen.there.empty());
  }
}

/// The nodes keep it for whoever opens a session of that name later.
TEST_F(redlock_glance, a_denial_alone_is_no_session) {
  nodes.init();
  const auto engine = engine_at(nodes.url("ttl=60s"));
  const session_id nobody{{7}};
  std::promise<core::status> denied;
  engine->deny({nobody, "test", "test"},
               [&](const core::deny_reply& r) { denied.set_value(r.what); });
  static_cast<void>(denied.get_future().get());
  ASSERT_TRUE(nodes.comes_to("holdfast:session:" + nobody.str(), 5));
  const auto seen = glance_at(*engine, nobody);
  EXPECT_EQ(seen.what, core::status::ok) << seen.text;
  EXPECT_TRUE(seen.there.empty());
}

}  // namespace

}  // namespace holdfast::redlock_tests
