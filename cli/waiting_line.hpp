#pragma once

#include "cli/descriptor.hpp"
#include "cli/report.hpp"

#include <holdfast/observer.hpp>

#include <mutex>
#include <optional>
#include <string>

namespace holdfast::cli {

/// One line on a terminal that says who is in the way, redrawn in place while we wait in its
/// foreground; without a terminal, with --verbose, one line each time the place in the queue
/// changes.
///
/// Thread safety: heard() from any thread; the rest from the main thread.
class waiting_line {
 public:
  waiting_line(std::string lock, std::string store, const report& out);
  ~waiting_line() { erase(); }

  void heard(const event::waiting& e);
  /// Draws it again, with the time that has passed.
  void draw();
  void erase();

 private:
  std::string text(const event::waiting& e, std::size_t columns) const;
  void put(const std::string& text) const;

  std::string lock_;
  std::string store_;
  const report& out_;
  bool on_terminal_;
  descriptor screen_;
  bool drawn_{};
  std::optional<std::size_t> ahead_said_;
  time_point started_{clock::now()};
  std::mutex mutex_;
  std::optional<event::waiting> latest_;
};

}  // namespace holdfast::cli
