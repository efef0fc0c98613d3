#include "tests/interop/section_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

namespace holdfast::interop_tests {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace {

TEST(section_log, sections_that_follow_each_other_do_not_overlap) {
  section_log log;
  EXPECT_THAT(log.read(), IsEmpty());
  log.add({"a-1", 10, 20});
  log.add({"b-2", 30, 40});
  log.add({"a-1", 20, 30});
  EXPECT_THAT(log.read(), SizeIs(3));
  EXPECT_THAT(overlaps(log.read()), IsEmpty());
}

TEST(section_log, two_holders_at_once_are_told) {
  section_log log;
  log.add({"b-2", 19, 30});
  log.add({"a-1", 10, 20});
  EXPECT_THAT(overlaps(log.read()), ElementsAre("b-2 held 1 ns before the end of a-1"));
}

TEST(section_log, a_holder_within_the_section_of_another_hides_no_third) {
  section_log log;
  log.add({"a-1", 10, 100});
  log.add({"b-2", 20, 30});
  log.add({"c-3", 40, 50});
  EXPECT_THAT(overlaps(log.read()), ElementsAre(HasSubstr("b-2"), HasSubstr("c-3")));
}

TEST(section_log, clients_are_counted_by_their_names) {
  section_log log;
  log.add({"a-1", 10, 20});
  log.add({"a-2", 20, 30});
  log.add({"ab-1", 30, 40});
  log.add({"a-1", 40, 50});
  EXPECT_EQ(count_of("a", log.read()), 3U);
  EXPECT_EQ(count_of("ab", log.read()), 1U);
  EXPECT_EQ(handovers("a", log.read()), 2U);
}

TEST(section_log, a_line_under_way_is_not_read_and_a_bad_one_is_told) {
  section_log log;
  log.add({"a-1", 10, 20});
  std::ofstream(log.path(), std::ios::app) << "b-2 30 4";
  EXPECT_THAT(log.read(), SizeIs(1));
  std::ofstream(log.path(), std::ios::app) << "0\nb-2 undefined 50\n";
  EXPECT_THROW(log.read(), std::runtime_error);
}

TEST(section_log, a_section_that_ends_before_it_begins_is_told) {
  section_log log;
  log.add({"a-1", 20, 10});
  EXPECT_THROW(log.read(), std::runtime_error);
}

}  // namespace

}  // namespace holdfast::interop_tests
