#pragma once

#include "tests/process/child.hpp"
#include "tests/temporary_directory.hpp"

#include <optional>
#include <string>

namespace holdfast::etcd_tests {

/// A file system on a loop device that can be frozen: whoever writes to it or syncs it waits. It is
/// thawed and unmounted when this object or the test ends, however it ends.
class freezing_disk {
 public:
  /// See obstacle().
  freezing_disk();
  freezing_disk(const freezing_disk&) = delete;
  freezing_disk& operator=(const freezing_disk&) = delete;
  ~freezing_disk();

  /// Why there is none: the kernel or the user's rights do not allow it. Empty: it is there.
  const std::string& obstacle() const noexcept { return obstacle_; }
  const std::string& path() const noexcept { return directory_.path(); }
  void freeze();
  void thaw();

 private:
  tests::temporary_directory files_;
  tests::temporary_directory directory_;
  std::string obstacle_;
  int lifeline_{-1};
  process::child keeper_;
};

}  // namespace holdfast::etcd_tests
