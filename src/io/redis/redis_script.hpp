#pragma once

#include <span>
#include <string_view>

namespace holdfast::io {

/// One Lua script that a node runs in one step.
///
/// Send it with EVALSHA and `sha1`, after SCRIPT LOAD of `text` on the same connection. NOSCRIPT is
/// never answered by EVAL alone: it may mean a restart, so look at the node's record first.
struct redis_script {
  std::string_view name;
  std::string_view text;
  std::string_view sha1;  ///< Of the text, 40 hexadecimal digits.
  /// All that it may run, lower case: what an ACL user needs beside `evalsha` and `script|load`.
  std::span<const std::string_view> commands;
};

}  // namespace holdfast::io
