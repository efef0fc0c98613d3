#pragma once

#include "io/file/files.hpp"

#include <holdfast/error.hpp>

#include <sys/types.h>

#include <optional>
#include <string>

namespace holdfast::engines::local {

/// Whether a folder is open to those who are to use the store in it, and to nobody else: to its
/// owner alone, or to a group. What is wrong is told with what to do about it, but for a change
/// that would harm others who rely on the folder as it is.
struct folder_access {
  std::string path{};
  io::file_facts facts{};
  std::string group{};  ///< Empty: the store is its owner's alone.

  /// `id`: the group's number, when there is one.
  /// Errors: `unavailable`.
  result<void> check(std::optional<gid_t> id) const;
  /// Where a store could be instead, as a clause; empty where we may make nothing.
  std::string folder_below() const;

 private:
  result<void> check_group(gid_t id) const;
  result<void> check_owner() const;
  bool is_sticky() const noexcept;
  bool is_ours() const noexcept;
  std::string advice(const std::string& change) const;
};

/// Of a folder that could not be opened, which `why` says: where it is closed to us, also how a
/// store is made that several may open, or what keeps us out of the group's.
error why_closed(const error& why, const std::string& path, const std::string& group,
                 std::optional<gid_t> id);

}  // namespace holdfast::engines::local
