#include "engines/local/engine.hpp"
#include "engines/local/keys.hpp"
#include "engines/local/store_fixture.hpp"
#include "engines/local/sweeping.hpp"
#include "engines/local/tables.hpp"
#include "io/process/life.hpp"
#include "tests/own_namespaces.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>

namespace {

std::atomic<int> head_writes_to_fail{0};
std::atomic<int> fails_with{ENOSPC};

// LMDB's two head pages are the first of the file, and are written in one piece.
bool is_head(int fd, off_t at) {
  if (at >= 2 * ::getpagesize()) return false;
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  return size > 0 &&
         std::string_view(path.data(), static_cast<std::size_t>(size)).ends_with("/data.mdb");
}

}  // namespace

// A disk cannot be made to refuse one page only. LMDB finds this one before the C library's.
extern "C" [[gnu::visibility("default")]] ssize_t own_pwrite(int fd, const void* from,
                                                             std::size_t size,
                                                             off_t at) __asm__("pwrite");
extern "C" ssize_t own_pwrite(int fd, const void* from, std::size_t size, off_t at) {
  if (head_writes_to_fail > 0 && is_head(fd, at)) {
    --head_writes_to_fail;
    errno = fails_with;
    return -1;
  }
  return ::syscall(SYS_pwrite64, fd, from, size, at);
}

namespace holdfast::engines::local {
namespace {

class local_database : public store_test {};

TEST_F(local_database, a_failed_write_of_its_head_page_costs_that_write_alone) {
  const auto o = open();
  caller c(o.engine, 1);
  ASSERT_EQ(c.open().what, core::status::ok);
  const auto held = c.enqueue("a");
  ASSERT_EQ(held.what, core::status::ok);
  for (int i = 0; i < 3; ++i) {
    head_writes_to_fail = 1;
    const auto refused = c.enqueue("b");
    EXPECT_EQ(head_writes_to_fail.exchange(0), 0) << "LMDB's write was not seen";
    EXPECT_EQ(refused.what, core::status::unavailable);
    EXPECT_NE(refused.text.find("free space on its disk"), std::string::npos) << refused.text;

    EXPECT_EQ(c.confirm("a", held.mine).what, core::status::ok);
    const auto beat = c.beat();
    EXPECT_EQ(beat.what, core::status::ok) << beat.text;
    const auto next = c.enqueue("b");
    EXPECT_EQ(next.what, core::status::ok) << next.text;
    EXPECT_GT(next.mine, held.mine);
    EXPECT_EQ(c.leave("b", next.mine).what, core::status::ok);
  }
  EXPECT_EQ(in_child([&] {
              const auto other = open_at(path());
              return other && caller(other->engine, 2).enqueue("a").what == core::status::gone ? 0
                                                                                               : 1;
            }),
            0)
      << "others read the same file";
}

// A record without its file can be judged by its ttl alone.
TEST_F(local_database, a_life_lock_stays_where_the_record_could_not_be_removed) {
  const auto store = environment::open({path(), {}});
  ASSERT_TRUE(store) << store.error().message();
  caller dead(std::make_shared<local_engine>(*store), 1);
  auto life = io::life_lock::hold(path() + "/life", dead.id());
  ASSERT_TRUE(life);
  const auto where = life->place();
  ASSERT_EQ(dead.open(where).what, core::status::ok);
  life->forget();
  head_writes_to_fail = 1;
  make_room(**store);
  EXPECT_EQ(head_writes_to_fail.exchange(0), 0) << "LMDB's write was not seen";
  ASSERT_EQ(dead.list().sessions.size(), 1U);
  EXPECT_EQ(io::probe_life(path() + "/life", dead.id(), where), life::dead);
  make_room(**store);
  EXPECT_TRUE(dead.list().sessions.empty());
  EXPECT_TRUE(std::filesystem::is_empty(path() + "/life"));
}

core::queue_view refused_with(int code, caller& c) {
  head_writes_to_fail = 1;
  fails_with = code;
  auto refused = c.enqueue("b");
  fails_with = ENOSPC;
  EXPECT_EQ(head_writes_to_fail.exchange(0), 0) << "LMDB's write was not seen";
  return refused;
}

TEST_F(local_database, a_disk_that_fails_is_not_called_full) {
  const auto o = open();
  caller c(o.engine, 1);
  ASSERT_EQ(c.open().what, core::status::ok);
  const auto refused = refused_with(EIO, c);
  EXPECT_EQ(refused.what, core::status::unavailable);
  EXPECT_NE(refused.text.find("Input/output error"), std::string::npos) << refused.text;
  EXPECT_NE(refused.text.find("its disk failed"), std::string::npos) << refused.text;
  EXPECT_EQ(refused.text.find("full"), std::string::npos) << refused.text;
}

// What LMDB says when a write was cut short.
TEST_F(local_database, a_full_disk_that_is_called_an_io_error_is_full) {
  const std::string small = root() + "/small";
  const auto mount = [&] {
    return ::mkdir(small.c_str(), 0700) == 0 &&
           ::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=512k,mode=0700") == 0;
  };
  const int code = tests::in_own_mounts(mount, [&] {
    const auto o = open_at(small + "/s");
    if (!o) return 1;
    caller c(o->engine, 1);
    if (c.open().what != core::status::ok) return 2;
    const auto refused = refused_with(EIO, c);
    return refused.text.find("free space on its disk") != std::string::npos ? 0 : 3;
  });
  if (code == tests::cannot_mount) GTEST_SKIP() << "NOT TESTED: no private mounts here";
  EXPECT_EQ(code, 0);
}

TEST_F(local_database, a_listing_shows_the_moment_in_which_it_was_copied) {
  const auto store = environment::open({path(), {}});
  ASSERT_TRUE(store);
  caller c(std::make_shared<local_engine>(*store), 1);
  ASSERT_EQ(c.open().what, core::status::ok);
  // More than one block of copies.
  const std::string stem(505, 'n');
  std::vector<token> held;
  for (int i = 0; i < 2000; ++i) held.push_back(c.enqueue(stem + std::to_string(i)).mine);
  copied_records copied;
  ASSERT_FALSE((*store)->read([&](transaction& txn) { copy_all(txn, copied); }));
  ASSERT_EQ(c.close().what, core::status::ok);
  EXPECT_TRUE(c.list().locks.empty());

  core::listing then;
  ASSERT_FALSE(list_all(copied, "data", then));
  EXPECT_EQ(then.sessions.size(), 1U);
  ASSERT_EQ(then.locks.size(), held.size());
  for (const auto& one : then.locks) {
    const auto number = std::stoul(one.name.str().substr(stem.size()));
    ASSERT_EQ(one.entries.size(), 1U);
    EXPECT_EQ(one.entries.front().order, held.at(number));
  }
}

TEST_F(local_database, a_record_that_cannot_be_read_makes_a_listing_damaged) {
  const auto store = environment::open({path(), {}});
  ASSERT_TRUE(store);
  caller c(std::make_shared<local_engine>(*store), 1);
  ASSERT_EQ(c.open().what, core::status::ok);
  ASSERT_FALSE((*store)->write(
      [&](transaction& txn, wake_list&) { txn.put(session_key(c.id()).view(), bytes_of("?")); }));
  const auto all = c.list();
  EXPECT_EQ(all.what, core::status::damaged);
  EXPECT_NE(all.text.find("a session record that cannot be read"), std::string::npos) << all.text;
  EXPECT_NE(all.text.find(file("data.mdb")), std::string::npos) << all.text;
}

/// Taken for one that is not there, it would free what its session holds.
TEST_F(local_database, a_record_that_cannot_be_read_frees_no_lock) {
  const auto store = environment::open({path(), {}});
  ASSERT_TRUE(store);
  const auto engine = std::make_shared<local_engine>(*store);
  caller holder(engine, 1), other(engine, 2);
  ASSERT_EQ(holder.open().what, core::status::ok);
  ASSERT_EQ(other.open().what, core::status::ok);
  const auto held = holder.enqueue("a");
  const auto kept = holder.enqueue("b");
  ASSERT_EQ(held.what, core::status::ok);
  ASSERT_EQ(kept.what, core::status::ok);
  const auto spoil = [&](bytes k) {
    ASSERT_FALSE((*store)->write([&](transaction& txn, wake_list&) { txn.put(k, bytes_of("?")); }));
  };
  const auto expect_damaged = [](const core::reply& r, const std::string& what) {
    EXPECT_EQ(r.what, core::status::damaged);
    EXPECT_NE(r.text.find(what + " that cannot be read"), std::string::npos) << r.text;
  };
  spoil(entry_key(queue_prefix(lock_name("a")), held.mine).view());
  expect_damaged(other.enqueue("a"), "an entry");
  expect_damaged(other.confirm("a", held.mine), "an entry");
  expect_damaged(other.list(), "an entry");
  caller next(engine, 3);
  expect_damaged(next.open(), "an entry");  // It sweeps.
  spoil(session_key(holder.id()).view());
  expect_damaged(other.enqueue("b"), "a session record");
  expect_damaged(holder.confirm("b", kept.mine), "a session record");
  expect_damaged(holder.glance(), "a session record");
  expect_damaged(holder.open(), "a session record");
}

}  // namespace
}  // namespace holdfast::engines::local
