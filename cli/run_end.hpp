#pragma once

#include "cli/exit_code.hpp"

#include <holdfast/error.hpp>

#include <string>
#include <utility>

namespace holdfast::cli {

/// How a run ends, and what is to be said of it, which waits until nothing is held any more: where
/// nobody reads standard error, saying it stands still, and the lock would be renewed for ever.
struct run_end {
  int code{};
  std::string failure{};  ///< The name of the error; empty where this is none.
  std::string text{};     ///< Of the error; else something to know, or empty.

  static run_end failed(errc name, std::string text) {
    return {to_int(exit_for(name)), name_of(name), std::move(text)};
  }
};

}  // namespace holdfast::cli
