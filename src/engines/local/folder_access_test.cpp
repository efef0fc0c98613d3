#include "engines/local/folder_access.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace holdfast::engines::local {
namespace {

constexpr gid_t number = 4242;

/// Of a folder of ours with that mode.
folder_access ours(mode_t mode, const std::string& group = {}) {
  return {.path = "/srv/locks",
          .facts = {.owner = ::geteuid(), .group = number, .mode = mode},
          .group = group};
}
folder_access somebodys(mode_t mode, const std::string& group = {}) {
  auto a = ours(mode, group);
  ++a.facts.owner;
  return a;
}
/// What check() says against it; empty: nothing.
std::string against(const folder_access& a, std::optional<gid_t> id = {}) {
  const auto done = a.check(id);
  EXPECT_TRUE(done || (done.error() == errc::unavailable && done.error().needs_operator()));
  return done ? std::string() : done.error().message();
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(local_folder_access, is_its_owners_alone_without_a_group) {
  EXPECT_EQ(against(ours(0700)), "");
  EXPECT_EQ(against(ours(0755)), "") << "others may look";
  EXPECT_TRUE(has(against(somebodys(0700)), "belongs to user"));
  EXPECT_TRUE(has(against(ours(0702)), "chmod 0700 it"));
  EXPECT_TRUE(has(against(ours(0720)), "mode 0720, so others may write to it"));
}

TEST(local_folder_access, of_a_group_s_folder_is_not_taken_for_its_owners_alone) {
  auto a = ours(02770);
  a.facts.group = 0;
  EXPECT_TRUE(has(against(a), "open it with ?group=root"));
  const auto nameless = against(ours(02770));
  EXPECT_TRUE(has(nameless, "the group 4242 (mode 2770), which has no name")) << nameless;
  EXPECT_FALSE(has(nameless, "?group=4242")) << nameless;
}

TEST(local_folder_access, what_is_no_folder_is_not_told_to_be_closed_to_us) {
  const error why(errc::unavailable, "not a directory");
  EXPECT_EQ(why_closed(why, "/etc/hostname", {}, {}).message(), "not a directory");
  EXPECT_EQ(why_closed(why, "/dev/null", {}, {}).message(), "not a directory");
}

TEST(local_folder_access, that_is_closed_to_us_a_person_has_to_change) {
  const std::string path = ::testing::TempDir() + "holdfast_closed_folder";
  ASSERT_EQ(::mkdir(path.c_str(), 0), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && ::setuid(nobody) != 0) ::_exit(2);
    const auto e = why_closed(error::for_operator(errc::unavailable, "closed"), path, {}, {});
    ::_exit(e.needs_operator() && has(e.message(), "?group=GROUP") ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::rmdir(path.c_str());
}

TEST(local_folder_access, is_a_groups_whoever_owns_it) {
  EXPECT_EQ(against(ours(02770, "jobs"), number), "");
  EXPECT_EQ(against(somebodys(02770, "jobs"), number), "");
  EXPECT_TRUE(has(against(ours(02770, "jobs"), number + 1), "chgrp and chmod 2770 it"));
  EXPECT_TRUE(has(against(ours(02772, "jobs"), number), "so others may write to it"));
}

TEST(local_folder_access, needs_new_files_to_be_the_groups) {
  EXPECT_TRUE(has(against(ours(0770, "jobs"), number), "do not belong to the group jobs"));
}

TEST(local_folder_access, does_not_advise_to_change_what_others_need_or_own) {
  const auto shared = against(ours(01777));
  EXPECT_TRUE(has(shared, "leave it so")) << shared;
  EXPECT_TRUE(has(shared, "local:/srv/locks/holdfast")) << shared;
  EXPECT_FALSE(has(shared, "chmod")) << shared;
  EXPECT_TRUE(has(against(somebodys(02772, "jobs"), number), "its owner may chmod"));
}

TEST(local_folder_access, names_a_folder_below_only_where_one_may_be_made) {
  EXPECT_EQ(ours(0700).folder_below(), ", such as local:/srv/locks/holdfast");
  EXPECT_EQ(ours(02770, "jobs").folder_below(), ", such as local:/srv/locks/holdfast?group=jobs");
  EXPECT_EQ(somebodys(01777).folder_below(), ", such as local:/srv/locks/holdfast");
  EXPECT_EQ(somebodys(0755).folder_below(), "");
}

}  // namespace
}  // namespace holdfast::engines::local
