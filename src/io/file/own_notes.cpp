#include "io/file/own_notes.hpp"

#include "io/file/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace holdfast::io {

namespace {

bool is_own(int fd) {
  struct stat s {};
  return ::fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == ::geteuid() &&
         (s.st_mode & 0022U) == 0;
}

}  // namespace

std::string own_text(int directory, const std::string& path, std::size_t bytes_max) {
  const unique_fd file(
      ::openat(directory, path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file || !is_own(file.get())) return {};
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 1; got > 0 && text.size() <= bytes_max;) {
    got = ::read(file.get(), part.data(), part.size());
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text.size() > bytes_max ? std::string() : text;
}

std::string_view lines_below(std::string_view head, std::string_view text) noexcept {
  if (head.empty() || !text.starts_with(head)) return {};
  text.remove_prefix(head.size());
  return text.substr(0, text.rfind('\n') + 1);
}

}  // namespace holdfast::io
