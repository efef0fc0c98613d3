#pragma once

#include "tests/interop/section_log.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/five_nodes.hpp"

#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>

namespace holdfast::interop_tests {

using namespace std::chrono_literals;

/// A client of another library: a program of this folder, in one of the modes that modes.js tells.
/// It ends with its standard input, and so with the test.
class foreign_client {
 public:
  struct kind {
    std::string label;
    std::string program;   ///< The file.
    std::size_t nodes{};   ///< How many servers it works on.
    std::string prefix{};  ///< What its library puts before a name to make the key.

    /// What it is called in the log.
    std::string called() const { return program.substr(0, program.find('.')); }
    friend std::ostream& operator<<(std::ostream& out, const kind& k) { return out << k.label; }
  };
  /// Why programs of this kind cannot run here; empty when they can.
  static std::string missing(const kind& k);

  /// `name` is what the library is given, without the prefix. The log is for `contend`.
  foreign_client(const kind& k, const std::string& mode, const std::string& name,
                 std::chrono::milliseconds ttl, redlock_tests::five_nodes& nodes,
                 const section_log& log);
  foreign_client(const foreign_client&) = delete;
  foreign_client& operator=(const foreign_client&) = delete;
  ~foreign_client();

  /// The next line that it says; empty when none comes in time or it has ended.
  std::string line(std::chrono::milliseconds limit = 20s);
  /// Ends its standard input. Its last words are still there to be read.
  void let_go();
  /// True when it ends by itself and without an error.
  bool ends_well();

 private:
  process::child process_;
  int input_{-1};
  int output_{-1};
  std::string said_;
};

}  // namespace holdfast::interop_tests
