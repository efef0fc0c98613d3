#pragma once

#include "cli/command_line.hpp"
#include "cli/report.hpp"

#include <holdfast/store.hpp>

#include <variant>
#include <vector>

namespace holdfast::cli {

/// Reads the settings and opens the store, or gives the exit code after a sentence.
std::variant<store, int> open_store(const common_options& given, const report& out);

/// The sessions that `t` means: the one, or every holder of the lock. Empty after a sentence, for
/// which `code` is the exit code.
std::vector<session_id> sessions_of(const target& t, const snapshot& all, const report& out,
                                    int& code);

}  // namespace holdfast::cli
