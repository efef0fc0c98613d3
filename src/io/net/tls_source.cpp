#include "io/net/tls_source.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

namespace holdfast::io {

namespace {

// Of the times of files: FAT's two seconds, a kernel's tick elsewhere.
constexpr std::chrono::seconds coarsest_grain{2};

// The program may change its directory before the file is read again.
void make_absolute(std::string& path) {
  std::error_code failed;
  const auto from_root = std::filesystem::absolute(path, failed);
  if (!path.empty() && !failed) path = from_root.string();
}

}  // namespace

result<std::shared_ptr<tls_source>> tls_source::make(tls_options options) {
  for (auto* path : {&options.ca_file, &options.certificate_file, &options.key_file}) {
    make_absolute(*path);
  }
  std::shared_ptr<tls_source> made(new tls_source(std::move(options)));
  const held_mutex hold(made->mutex_);
  if (auto usable = made->read(made->options_); !usable) return usable.error();
  return made;
}

std::shared_ptr<const tls_context> tls_source::current() {
  const held_mutex hold(mutex_);
  if (is_settled_ && look() == read_) return last_;
  tls_options again = options_;
  again.may_ask = false;
  // A certificate whose key is not there yet is no context: the next connection looks again.
  static_cast<void>(read(again));
  return last_;
}

result<void> tls_source::read(const tls_options& options) {
  // First: what is replaced while it is read has other marks afterwards.
  const auto found = look();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  auto context = tls_context::make(options);
  if (!context) return context.error();
  last_ = std::move(*context);
  read_ = found;
  is_settled_ = std::ranges::all_of(found, [&](const mark& m) {
    return now - std::chrono::nanoseconds(m.changed) > coarsest_grain;
  });
  return {};
}

tls_source::mark tls_source::mark_of(const std::string& path) {
  struct stat facts {};
  if (path.empty() || ::stat(path.c_str(), &facts) != 0) return {};
  // A pipe is read once, and would block whoever reads it again.
  if (!S_ISREG(facts.st_mode)) return {};
  return {.device = facts.st_dev,
          .inode = facts.st_ino,
          .size = facts.st_size,
          .changed = facts.st_ctim.tv_sec * 1'000'000'000 + facts.st_ctim.tv_nsec};
}

tls_source::marks tls_source::look() const {
  return {mark_of(options_.ca_file), mark_of(options_.certificate_file),
          mark_of(options_.key_file)};
}

}  // namespace holdfast::io
