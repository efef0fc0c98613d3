#include "engines/local/directory.hpp"

#include "engines/local/store_fixture.hpp"

#include <sys/prctl.h>

#include <csignal>
#include <filesystem>
#include <optional>

namespace holdfast::engines::local {
namespace {

namespace fs = std::filesystem;

/// A forked child that has what its parent had at that moment, and uses nothing of it.
class bystander {
 public:
  bystander() : pid_(::fork()) {
    if (pid_ == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (pid_ == 0) ::pause();
  }
  bystander(const bystander&) = delete;
  bystander& operator=(const bystander&) = delete;
  ~bystander() {
    ::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

class local_directory : public store_test {
 protected:
  /// Opens it, as far as setup; the store is not made complete.
  std::optional<directory> half_open() const {
    auto half = directory::open({path(), {}});
    if (!half) ADD_FAILURE() << half.error().message();
    return half ? std::optional(std::move(*half)) : std::nullopt;
  }
};

TEST_F(local_directory, an_open_that_failed_leaves_no_lock_with_a_forked_child) {
  for (const bool is_new : {true, false}) {
    auto half = half_open();
    ASSERT_TRUE(half);
    EXPECT_EQ(half->fresh(), is_new);
    const bystander child;
    half.reset();
    const auto o = open_at(path());
    ASSERT_TRUE(o) << o.error().message();
  }
}

TEST_F(local_directory, a_store_that_is_closed_is_not_in_use_by_a_forked_child) {
  auto first = std::make_optional(open());
  const bystander child;
  first.reset();
  fs::remove(file("boot"));
  const auto o = open_at(path());
  ASSERT_TRUE(o) << o.error().message();
}

}  // namespace
}  // namespace holdfast::engines::local
