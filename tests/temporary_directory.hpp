#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace holdfast::tests {

/// A directory of its own, removed with everything in it.
class temporary_directory {
 public:
  /// Under `parent`, else under $TMPDIR or /tmp.
  explicit temporary_directory(std::string parent = {}) {
    if (parent.empty()) parent = std::filesystem::temp_directory_path().string();
    path_ = parent + "/holdfast-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << path_;
    maker_ = ::getpid();
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  ~temporary_directory() {
    // A forked child that unwinds must not take the directory from its parent.
    std::error_code ignored;
    if (::getpid() == maker_) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  pid_t maker_{};
};

}  // namespace holdfast::tests
