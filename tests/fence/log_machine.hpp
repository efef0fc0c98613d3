#pragma once

#include "fence/log_owner.hpp"
#include "fence/log_view.hpp"
#include "tests/fence/crashing_disk.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::tests {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline fencing_token with(std::uint64_t token) {
  return {{store_identity("test/1"), lock_name("log")}, {token}};
}

/// A machine with a log on a disk that can lose its power.
class log_machine {
 public:
  explicit log_machine(std::uint64_t seed) : disk_(std::make_shared<crashing_disk>(seed)) {}

  crashing_disk& disk() { return *disk_; }
  fencing::log_ground ground() { return {disk_->folder(), boot_}; }

  using owner = std::unique_ptr<fencing::log_owner>;
  using view = std::unique_ptr<fencing::log_view>;

  result<owner> open(std::uint64_t token, const log_options& options = {}) {
    return fencing::log_owner::open(ground(), with(token), options);
  }
  owner must_open(std::uint64_t token, const log_options& options = {}) {
    auto opened = open(token, options);
    if (!opened) {
      ADD_FAILURE() << opened.error().message();
      return nullptr;
    }
    return std::move(*opened);
  }
  result<view> read(const reader_options& options = {}) {
    return fencing::log_view::open(ground(), options);
  }
  view must_read(const reader_options& options = {}) {
    auto opened = read(options);
    if (!opened) {
      ADD_FAILURE() << opened.error().message();
      return nullptr;
    }
    return std::move(*opened);
  }
  /// Everything that a new reader returns; a failure ends it and is added to the test's.
  std::vector<std::string> all(survives what = survives::kill) {
    std::vector<std::string> found;
    const auto v = must_read({.durability = what});
    if (!v) return found;
    for (;;) {
      auto next = v->next();
      if (!next) ADD_FAILURE() << next.error().message();
      if (!next || !*next) return found;
      found.push_back(text_of((*next)->bytes));
    }
  }

  void lose_power() {
    disk_ = disk_->after_power_loss();
    ++boot_;
  }
  /// Which boot this is cannot be read any more, as without /proc.
  void hide_boot() { boot_ = 0; }

 private:
  std::shared_ptr<crashing_disk> disk_;
  std::uint64_t boot_{1};
};

}  // namespace holdfast::tests
