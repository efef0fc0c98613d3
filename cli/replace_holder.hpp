#pragma once

#include "cli/command_line.hpp"
#include "cli/report.hpp"

#include <optional>
#include <string>

namespace holdfast::cli {

/// `deny --raise-fence`: the options of its own, and the verb itself. See holdfast/fenced.hpp.
struct replace_holder {
  std::string fence, wait, audit;
  bool dry_run{};

  void add_to(arguments& verb);
  /// 64 after a sentence when an option stands without --raise-fence.
  std::optional<int> check(const report& out) const;
  int run(const common_options& common, const target& which, const std::string& by,
          const std::string& why, const report& out) const;
};

}  // namespace holdfast::cli
