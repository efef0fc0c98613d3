#include "engines/local/directory.hpp"
#include "engines/local/store_fixture.hpp"
#include "tests/ended_main.hpp"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>

namespace holdfast::engines::local {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const std::string& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0 ? s.st_mode & 07777U : 0;
}

class local_open : public store_test {};

TEST_F(local_open, makes_a_private_directory_with_private_files) {
  const mode_t before = ::umask(0);
  const auto o = open();
  ::umask(before);
  EXPECT_EQ(o.url, "local:" + path());
  EXPECT_EQ(o.life_directory, path() + "/life");
  EXPECT_FALSE(o.group_writable);
  EXPECT_EQ(mode_of(path()), 0700U);
  for (const auto& e : fs::directory_iterator(path())) {
    EXPECT_EQ(mode_of(e.path()), e.is_directory() ? 0700U : 0600U) << e.path();
  }
}

TEST_F(local_open, group_opens_it_to_a_group) {
  const group* own = ::getgrgid(::getegid());
  ASSERT_NE(own, nullptr);
  const auto o = open_at(path(), std::string("group=") + own->gr_name);
  ASSERT_TRUE(o) << o.error().message();
  EXPECT_TRUE(o->group_writable);
  EXPECT_EQ(mode_of(path()), 02770U);
  EXPECT_EQ(mode_of(path() + "/life"), 02770U);
  EXPECT_EQ(mode_of(file("data.mdb")), 0660U);
  EXPECT_EQ(open_at(path(), "group=no-such-group-here").error(), errc::invalid_argument);
  EXPECT_EQ(open_at(path(), "group=").error(), errc::invalid_argument);
}

TEST_F(local_open, refuses_a_group_directory_whose_new_files_are_not_the_groups) {
  const group* own = ::getgrgid(::getegid());
  ASSERT_NE(own, nullptr);
  ASSERT_TRUE(fs::create_directory(path()));
  ASSERT_EQ(::chmod(path().c_str(), 0770), 0);
  const auto o = open_at(path(), std::string("group=") + own->gr_name);
  ASSERT_EQ(o.error(), errc::unavailable);
  EXPECT_NE(o.error().message().find("chmod 2770 it"), std::string::npos) << o.error().message();
  EXPECT_TRUE(fs::is_empty(path()));
  ASSERT_EQ(::chmod(path().c_str(), 02770), 0);
  EXPECT_TRUE(open_at(path(), std::string("group=") + own->gr_name));
}

TEST_F(local_open, refuses_unknown_query_keys_and_an_empty_path) {
  EXPECT_EQ(open_at(path(), "speed=fast").error(), errc::invalid_argument);
  EXPECT_EQ(open_at("").error(), errc::invalid_argument);
}

TEST_F(local_open, refuses_a_relative_path_and_writes_out_the_absolute_one) {
  const auto relative = open_at("locks", "group=jobs");
  ASSERT_EQ(relative.error(), errc::invalid_argument);
  const std::string here = fs::current_path().string();
  EXPECT_NE(relative.error().message().find("write local:" + here + "/locks?group=jobs"),
            std::string::npos)
      << relative.error().message();
  EXPECT_EQ(open_at("./locks").error(), errc::invalid_argument);
  const auto home = open_at("~/locks");
  ASSERT_EQ(home.error(), errc::invalid_argument);
  EXPECT_NE(home.error().message().find("no shell expands the ~"), std::string::npos);
  EXPECT_FALSE(fs::exists("locks"));
  EXPECT_FALSE(fs::exists("~"));
}

TEST_F(local_open, a_missing_store_is_refused_and_nothing_is_made_when_that_is_asked) {
  const auto look = [this] {
    return open_local(*core::store_url::parse("local:" + path()), missing::refuse);
  };
  const auto none = look();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), errc::unavailable);
  EXPECT_NE(none.error().message().find("there is no store at " + path()), std::string::npos);
  EXPECT_FALSE(fs::exists(path()));
  ASSERT_TRUE(fs::create_directory(path()));
  ASSERT_EQ(::chmod(path().c_str(), 0700), 0);
  EXPECT_EQ(look().error(), errc::unavailable);
  EXPECT_TRUE(fs::is_empty(path()));
  { const auto o = open(); }
  EXPECT_TRUE(look());
}

TEST_F(local_open, find_tells_whether_it_is_there_and_whether_it_could_be) {
  const auto find = [](const std::string& p) {
    return find_local(*core::store_url::parse("local:" + p));
  };
  const auto before = find(path() + "/deep");
  ASSERT_TRUE(before);
  EXPECT_FALSE(before->there);
  EXPECT_EQ(before->obstacle, "");
  EXPECT_EQ(before->url, "local:" + path() + "/deep");
  EXPECT_NE(find("/proc/nosuch")->obstacle.find("proc"), std::string::npos);
  write(root() + "/file", "");
  EXPECT_NE(find(root() + "/file/store")->obstacle.find("Not a directory"), std::string::npos);
  EXPECT_FALSE(fs::exists(path()));
  { const auto o = open(); }
  EXPECT_TRUE(find(path())->there);
  EXPECT_EQ(find("relative").error(), errc::invalid_argument);
}

TEST_F(local_open, a_group_store_opened_without_the_key_says_which_key) {
  const group* own = ::getgrgid(::getegid());
  ASSERT_NE(own, nullptr);
  { const auto o = open_at(path(), std::string("group=") + own->gr_name); }
  expect_refused(errc::unavailable, std::string("open it with ?group=") + own->gr_name);
}

TEST_F(local_open, the_same_store_by_any_path_has_one_url_and_one_slot) {
  const auto a = open();
  ASSERT_EQ(::symlink(root().c_str(), (root() + "/again").c_str()), 0);
  const auto b = open_at(root() + "/again/store/");
  ASSERT_TRUE(b) << b.error().message();
  EXPECT_EQ(a.url, b->url);
  const auto all = a.diagnose();
  ASSERT_TRUE(all);
  bool one = false;
  for (const auto& f : *all) one = one || f.text.starts_with("1 of at most");
  EXPECT_TRUE(one) << "two opens of one path must share one environment";
}

TEST_F(local_open, what_one_open_wrote_the_other_sees_and_the_last_one_closes) {
  auto a = std::make_optional(open());
  const auto b = open();
  caller one(a->engine, 1);
  ASSERT_EQ(one.open().what, core::status::ok);
  a.reset();
  EXPECT_EQ(caller(b.engine, 2).list().sessions.size(), 1U);
}

TEST_F(local_open, a_process_whose_main_has_ended_opens_it) {
  EXPECT_EQ(tests::after_the_end_of_main([this] {
              const auto o = open_at(path());
              if (!o) std::fprintf(stderr, "%s\n", o.error().message().c_str());
              return o && caller(o->engine, 1).open().what == core::status::ok ? 0 : 1;
            }),
            0);
}

TEST_F(local_open, refuses_a_symbolic_link_in_place_of_the_directory) {
  ASSERT_TRUE(fs::create_directory(root() + "/real"));
  ASSERT_EQ(::symlink((root() + "/real").c_str(), path().c_str()), 0);
  expect_refused(errc::unavailable, "symbolic link");
  EXPECT_TRUE(fs::is_empty(root() + "/real"));
  EXPECT_EQ(open_at(path() + "/").error(), errc::unavailable);
}

TEST_F(local_open, refuses_a_symbolic_link_in_place_of_each_file) {
  { const auto o = open(); }
  for (const char* name :
       {"format", "lock", "boot", "data.mdb", "shared", "slots", "floor", "life"}) {
    fs::rename(file(name), root() + "/aside");
    ASSERT_EQ(::symlink((root() + "/aside").c_str(), file(name).c_str()), 0);
    expect_refused(errc::unavailable, name);
    fs::remove(file(name));
    fs::rename(root() + "/aside", file(name));
  }
  const auto o = open();
}

TEST_F(local_open, refuses_a_store_of_this_boot_that_lost_a_file_which_processes_share) {
  const auto running = open();
  for (const char* name : {"data.mdb", "shared", "slots"}) {
    fs::rename(file(name), root() + "/kept");
    const pid_t other = ::fork();
    if (other == 0) ::_exit(open_at(path()).error() == errc::damaged ? 0 : 1);
    int status{};
    ::waitpid(other, &status, 0);
    EXPECT_EQ(status, 0) << name;
    fs::rename(root() + "/kept", file(name));
  }
}

TEST_F(local_open, a_missing_boot_file_is_not_called_another_boot_id) {
  const auto running = open();
  fs::rename(file("boot"), root() + "/kept");
  const pid_t other = ::fork();
  if (other == 0) {
    const auto refused = open_at(path());
    const bool said = refused.error() == errc::damaged &&
                      refused.error().message().find("boot is missing") != std::string::npos;
    ::_exit(said ? 0 : 1);
  }
  int status{};
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  fs::rename(root() + "/kept", file("boot"));
}

// Or two would hold one lock for as long as they like, each in files of its own.
TEST_F(local_open, a_session_ends_with_the_files_that_it_is_in) {
  const std::function<void()> losses[] = {
      [&] { fs::remove_all(path()); },
      [&] {
        for (const auto& each : fs::directory_iterator(path())) fs::remove_all(each);
      },
      [&] { fs::rename(path(), path() + ".old"); },
  };
  for (const auto& lose : losses) {
    fs::remove_all(path());
    const auto before = open();
    caller old(before.engine, 1);
    ASSERT_EQ(old.open().what, core::status::ok);
    ASSERT_EQ(old.enqueue("a").what, core::status::ok);
    ASSERT_EQ(old.beat().what, core::status::ok);
    lose();
    const int granted = in_child([&] {
      const auto after = open_at(path());
      caller next(after ? after->engine : nullptr, 2);
      return after && next.open().what == core::status::ok &&
                     next.enqueue("a").what == core::status::ok &&
                     next.beat().what == core::status::ok
                 ? 0
                 : 1;
    });
    EXPECT_EQ(granted, 0);
    EXPECT_EQ(old.beat().what, core::status::gone);
    const auto cut_off = caller(before.engine, 3).open();
    EXPECT_EQ(cut_off.what, core::status::unavailable);
    EXPECT_NE(cut_off.text.find("of this process"), std::string::npos) << cut_off.text;
    EXPECT_EQ(old.list().what, core::status::unavailable) << "it would show what is no more";
    EXPECT_EQ(old.deny().what, core::status::unavailable);
    EXPECT_EQ(old.glance().what, core::status::unavailable);
  }
}

TEST_F(local_open, a_store_that_was_only_moved_goes_on) {
  const auto o = open();
  caller one(o.engine, 1);
  ASSERT_EQ(one.open().what, core::status::ok);
  fs::rename(path(), path() + ".moved");
  EXPECT_EQ(one.beat().what, core::status::ok) << "whoever finds it finds this session";
}

TEST_F(local_open, refuses_a_directory_that_others_may_write_to) {
  ASSERT_TRUE(fs::create_directory(path()));
  ASSERT_EQ(::chmod(path().c_str(), 0777), 0);
  expect_refused(errc::unavailable, "0777");
  ASSERT_EQ(::chmod(path().c_str(), 0770), 0);
  expect_refused(errc::unavailable, "?group=");
  EXPECT_TRUE(fs::is_empty(path()));
}

TEST_F(local_open, what_is_no_store_is_said_before_its_mode) {
  ASSERT_TRUE(fs::create_directory(path()));
  write(file("thesis.txt"), "precious");
  for (const mode_t mode : {0777U, 01777U, 02770U}) {
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    expect_refused(errc::damaged, "thesis.txt");
    const auto o = open_at(path());
    const std::string& said = o.error().message();
    EXPECT_EQ(said.find("chmod"), std::string::npos) << said;
    EXPECT_NE(said.find("such as local:" + path() + "/holdfast"), std::string::npos) << said;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(path()), fs::directory_iterator()), 1);
}

TEST_F(local_open, nobody_is_told_to_change_the_mode_of_a_shared_directory) {
  const group* own = ::getgrgid(::getegid());
  ASSERT_NE(own, nullptr);
  const std::string query = std::string("group=") + own->gr_name;
  ASSERT_TRUE(fs::create_directory(path()));
  ASSERT_EQ(::chmod(path().c_str(), 01777), 0);
  for (const std::string& asked : {std::string(), query}) {
    const auto o = open_at(path(), asked);
    ASSERT_EQ(o.error(), errc::unavailable);
    const std::string& said = o.error().message();
    EXPECT_EQ(said.find("chmod"), std::string::npos) << said;
    const std::string better = path() + "/holdfast" + (asked.empty() ? "" : "?" + asked);
    EXPECT_NE(said.find("such as local:" + better), std::string::npos) << said;
  }
  EXPECT_TRUE(fs::is_empty(path()));
  EXPECT_TRUE(open_at(path() + "/holdfast"));
}

TEST_F(local_open, refuses_somebody_elses_directory) {
  if (::geteuid() != 0) GTEST_SKIP() << "NOT TESTED: needs root to give a directory away";
  ASSERT_TRUE(fs::create_directory(path()));
  ASSERT_EQ(::chmod(path().c_str(), 0700), 0);
  ASSERT_EQ(::chown(path().c_str(), 12345, static_cast<gid_t>(-1)), 0);
  expect_refused(errc::unavailable, "belongs to user 12345");
}

TEST_F(local_open, says_what_to_do_about_an_unreadable_or_read_only_directory) {
  if (::geteuid() != 0) GTEST_SKIP() << "NOT TESTED: needs root to become somebody else";
  { const auto o = open(); }
  ASSERT_EQ(::chmod(root().c_str(), 0755), 0);
  EXPECT_EQ(in_child([&] {
              if (::setresuid(12345, 12345, 12345) != 0) return 2;
              auto o = open_at(path());
              return !o && o.error() == errc::unavailable &&
                             o.error().message().find("Permission denied") != std::string::npos &&
                             o.error().message().ends_with("is made with ?group=GROUP")
                         ? 0
                         : 1;
            }),
            0);
  EXPECT_EQ(
      in_child([&] {
        if (::setresuid(12345, 12345, 12345) != 0) return 2;
        auto o = open_at(root() + "/new");
        return !o && o.error().message().find("create it, or choose") != std::string::npos ? 0 : 1;
      }),
      0);
}

TEST_F(local_open, refuses_a_directory_that_is_not_a_store) {
  ASSERT_TRUE(fs::create_directory(path()));
  ASSERT_EQ(::chmod(path().c_str(), 0700), 0);
  write(file("thesis.txt"), "precious");
  expect_refused(errc::damaged, "thesis.txt");
  EXPECT_EQ(read(file("thesis.txt")), "precious");
  EXPECT_FALSE(fs::exists(file("lock")));
}

TEST_F(local_open, refuses_a_foreign_and_a_newer_format_and_changes_nothing) {
  { const auto o = open(); }
  for (const auto& [text, words] :
       {std::pair{"holdfast local store\nversion 2\n", "another version"},
        std::pair{"something else", "not of a holdfast store"},
        std::pair{"", "not of a holdfast"}}) {
    write(file("format"), text);
    const auto before = read(file("data.mdb"));
    expect_refused(errc::damaged, words);
    EXPECT_EQ(read(file("format")), text);
    EXPECT_EQ(read(file("data.mdb")), before);
  }
  write(file("format"), std::string(5000, 'x'));
  expect_refused(errc::damaged, "longer than");
}

TEST_F(local_open, refuses_file_systems_that_are_not_known_to_be_local) {
  const auto o = open_at("/proc");
  ASSERT_FALSE(o);
  EXPECT_EQ(o.error(), errc::unsupported);
  EXPECT_NE(o.error().message().find("proc"), std::string::npos);
}

TEST_F(local_open, refuses_corrupt_data_of_this_boot) {
  { const auto o = open(); }
  const std::string good = read(file("data.mdb"));
  write(file("data.mdb"), std::string(good.size(), '\x5a'));
  expect_refused(errc::damaged, "data.mdb");
  write(file("data.mdb"), good.substr(0, good.size() / 2));
  expect_refused(errc::damaged, "data.mdb");
  write(file("data.mdb"), "");
  expect_refused(errc::damaged, "data.mdb");
  fs::remove(file("data.mdb"));
  expect_refused(errc::damaged, "data.mdb");
  write(file("data.mdb"), good);
  const auto o = open();
}

TEST_F(local_open, refuses_a_shared_file_that_is_cut_or_foreign) {
  { const auto o = open(); }
  const std::string good = read(file("shared"));
  write(file("shared"), good.substr(1));
  expect_refused(errc::damaged, "shared");
  write(file("shared"), std::string(good.size(), 'x'));
  expect_refused(errc::damaged, "shared");
  expect_refused(errc::damaged, "then remove " + file("boot"));
}

TEST_F(local_open, finishes_what_a_killed_opener_left) {
  { const auto o = open(); }
  for (const char* missing : {"boot", "data.mdb", "shared", "life", "lock"}) {
    fs::remove(file("boot"));
    fs::remove_all(file(missing));
    write(file("boot.new"), "half");
    const auto o = open();
    EXPECT_EQ(caller(o.engine, 1).open().what, core::status::ok) << missing;
  }
  fs::remove_all(path());
  fs::create_directory(path());
  ASSERT_EQ(::chmod(path().c_str(), 0700), 0);
  write(file("lock"), "");
  write(file("format.new"), "hold");
  const auto o = open();
}

TEST_F(local_open, gives_up_on_a_full_disk_and_on_a_store_that_fills_up) {
  const int code = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0) return 99;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 99;
    if (!fs::create_directory(root() + "/small")) return 1;
    const std::string small = root() + "/small";
    if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=16k,mode=0700") != 0) return 99;
    auto none = open_at(small + "/s");
    if (none || none.error() != errc::unavailable) return 2;
    if (none.error().message().find("No space left") == std::string::npos) return 3;
    if (::mount("tmpfs", small.c_str(), "tmpfs", MS_REMOUNT, "size=256k,mode=0700") != 0) return 99;
    auto o = open_at(small + "/s");
    if (!o) return 4;
    caller c(o->engine, 1);
    if (c.open().what != core::status::ok) return 5;
    core::queue_view last;
    std::size_t granted = 0;
    for (int i = 0; i < 20'000; ++i) {
      last = c.enqueue("name" + std::to_string(i));
      if (last.what != core::status::ok) break;
      ++granted;
    }
    if (last.what != core::status::unavailable) return 6;
    if (last.text.find("store is full") == std::string::npos) return 7;
    const auto all = c.list();
    if (all.what != core::status::ok || all.locks.size() != granted) return 8;
    if (::mount("tmpfs", small.c_str(), "tmpfs", MS_REMOUNT, "size=1m,mode=0700") != 0) return 99;
    return c.enqueue("more").what == core::status::ok ? 0 : 9;
  });
  if (code == 99) GTEST_SKIP() << "NOT TESTED: no private mounts here";
  EXPECT_EQ(code, 0);
}

TEST_F(local_open, a_store_in_use_says_it_is_well) {
  const auto o = open();
  caller c(o.engine, 1);
  ASSERT_EQ(c.open().what, core::status::ok);
  const auto all = o.diagnose();
  ASSERT_TRUE(all);
  EXPECT_GE(all->size(), 7U);
  for (const auto& f : *all) EXPECT_EQ(f.severity, severity::good) << f.subject << f.text;
}

}  // namespace
}  // namespace holdfast::engines::local
