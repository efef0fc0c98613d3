#pragma once

#include <string>
#include <string_view>

namespace holdfast::io {

/// What ZooKeeper's client library logs while this lives and one of its functions runs on this
/// thread: it says nowhere else why a server is of no use. One inside of another hears alone.
///
/// Thread safety: none; it lives and dies in one thread.
class zookeeper_log {
 public:
  /// The last line goes into `to`.
  explicit zookeeper_log(std::string& to) noexcept;
  zookeeper_log(const zookeeper_log&) = delete;
  zookeeper_log& operator=(const zookeeper_log&) = delete;
  ~zookeeper_log();

  /// What the library is given to write to; else it writes to stderr.
  static void take(const char* line);

  /// What a line says of a server, for people; empty when it says nothing of one. `greeted`: the
  /// server has said something on this connection.
  static std::string trouble_in(const std::string& line, bool greeted);
  /// Whether it says that nobody is there. Whoever closes a connection may be ZooKeeper without a
  /// leader; who is silent may be busy.
  static bool says_nobody_is_there(std::string_view line);

 private:
  std::string* outer_;
};

}  // namespace holdfast::io
