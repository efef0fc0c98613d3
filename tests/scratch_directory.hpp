#pragma once

#include <string>

namespace holdfast {

/// An empty directory of its own under $TMPDIR or /tmp, removed with all that is in it.
class scratch_directory {
 public:
  scratch_directory();
  ~scratch_directory();
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace holdfast
