#include "engines/redlock/scripts.hpp"

#include "io/redis/redis_reload_fixture.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace holdfast::engines::redlock {
namespace {

// What the server does not replay when it restarts is lost, though it was synced.
TEST(redlock_scripts, leave_nothing_in_the_file_that_is_not_asked_for) {
  EXPECT_EQ(io::written_and_not_asked(scripts::all), std::set<std::string>());
}

}  // namespace
}  // namespace holdfast::engines::redlock
