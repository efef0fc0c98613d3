#include "cli/audit_log.hpp"

#include "tests/temporary_directory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

class audit_log_test : public testing::Test {
 protected:
  std::vector<std::string> lines() const {
    std::ifstream in(path_);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  /// Whether line `at` is a whole object, with this step.
  bool tells(std::size_t at, const std::string& step) const {
    const auto entry = nlohmann::json::parse(lines().at(at), nullptr, false);
    return entry.is_object() && entry["step"] == step;
  }

  tests::temporary_directory folder_;
  std::string path_ = std::string(folder_.path()) + "/audit.log";
};

/// No file of this process grows above that. Writes are short then, as on a full disk.
class size_limit {
 public:
  explicit size_limit(rlim_t bytes) {
    old_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit now{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~size_limit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  sighandler_t old_handler_{};
};

TEST_F(audit_log_test, has_directories_that_can_be_used_whatever_the_umask) {
  const std::string above = std::string(folder_.path()) + "/made";
  const mode_t before = ::umask(0177);
  const auto log = audit_log::open(above + "/here/audit.log", audit_log::directories::make);
  ::umask(before);
  ASSERT_TRUE(log) << log.error().message();
  for (const std::string& made : {above, above + "/here"}) {
    struct stat there {};
    ASSERT_EQ(::stat(made.c_str(), &there), 0);
    EXPECT_EQ(there.st_mode & 07777U, 0700U) << made;
  }
}

TEST_F(audit_log_test, is_its_owners_to_append_to_whatever_the_umask) {
  const std::string above = std::string(folder_.path()) + "/made";
  path_ = above + "/audit.log";
  const mode_t before = ::umask(0777);
  auto log = audit_log::open(path_, audit_log::directories::make);
  ::umask(before);
  ASSERT_TRUE(log) << log.error().message();
  struct stat there {};
  ASSERT_EQ(::stat(above.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 07777U, 0700U);
  ASSERT_EQ(::stat(path_.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 07777U, 0600U);
}

TEST_F(audit_log_test, leaves_the_rights_of_a_file_that_is_there) {
  std::ofstream(path_) << "";
  ASSERT_EQ(::chmod(path_.c_str(), 0440), 0);
  if (auto log = audit_log::open(path_); ::geteuid() == 0) {
    ASSERT_TRUE(log) << log.error().message();
    EXPECT_TRUE(log->append({{"step", "one"}}));
  }
  struct stat there {};
  ASSERT_EQ(::stat(path_.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 07777U, 0440U);
}

TEST_F(audit_log_test, a_line_that_was_cut_short_is_told_and_stays_alone) {
  auto log = audit_log::open(path_);
  ASSERT_TRUE(log);
  ASSERT_TRUE(log->append({{"step", "one"}}));
  {
    const size_limit full(60);
    const auto refused = log->append({{"step", "two"}});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("File too large"), std::string::npos);
  }
  ASSERT_TRUE(log->append({{"step", "three"}}));
  ASSERT_TRUE(log->append({{"step", "four"}}));
  ASSERT_EQ(lines().size(), 4U);
  EXPECT_TRUE(tells(0, "one"));
  EXPECT_FALSE(tells(1, "two"));
  EXPECT_TRUE(tells(2, "three"));
  EXPECT_TRUE(tells(3, "four"));
}

TEST_F(audit_log_test, what_a_crash_cut_short_stays_alone_too) {
  std::ofstream(path_) << "{\"step\":\"o";
  auto log = audit_log::open(path_);
  ASSERT_TRUE(log);
  ASSERT_TRUE(log->append({{"step", "two"}}));
  ASSERT_EQ(lines().size(), 2U);
  EXPECT_TRUE(tells(1, "two"));
}

TEST_F(audit_log_test, that_is_a_pipe_nobody_reads_is_refused) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  descriptor reader;
  auto opened = std::async(std::launch::async, [this] { return audit_log::open(path_); });
  if (opened.wait_for(20s) != std::future_status::ready) {
    ADD_FAILURE() << "it waits for ever";
    reader.reset(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  const auto log = opened.get();
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message().find("nobody reads"), std::string::npos);
}

TEST_F(audit_log_test, that_is_a_pipe_whose_reader_stands_still_or_ends_is_told) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  descriptor reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto log = audit_log::open(path_);
  ASSERT_TRUE(log);
  auto appended = std::async(std::launch::async, [&log] {
    for (int i = 0; i < 300; ++i) {
      if (auto done = log->append({{"step", std::string(1000, 'x')}}); !done) return done;
    }
    return result<void>();
  });
  if (appended.wait_for(20s) != std::future_status::ready) {
    ADD_FAILURE() << "it waits for ever";
    reader.reset(-1);
  }
  const auto full = appended.get();
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().message().find("has taken nothing"), std::string::npos);
  reader.reset(-1);
  const auto gone = log->append({{"step", "two"}});
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message().find("Broken pipe"), std::string::npos);
}

TEST_F(audit_log_test, that_is_a_pipe_waits_for_who_reads_it) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  auto done = std::async(std::launch::async, [this] {
    auto log = audit_log::open(path_);
    return log ? log->append({{"step", "begun"}}).has_value() : false;
  });
  EXPECT_EQ(done.wait_for(300ms), std::future_status::timeout) << "nobody would read what it says";
  EXPECT_EQ(lines().size(), 1U);
  EXPECT_TRUE(done.get());
}

}  // namespace
}  // namespace holdfast::cli
