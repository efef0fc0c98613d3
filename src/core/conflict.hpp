#pragma once

#include "core/engine.hpp"

#include <utility>

namespace holdfast::core {

/// The answer to an arrival whose mode does not agree with that of the entries `there`. `seen` is
/// what an exclusive entry behind all would see: that one waits for everybody, whatever the modes.
inline queue_view conflict(queue_view seen, const mode& there, const mode& asked) {
  seen.what = status::conflicting;
  seen.text = "it is used as " + there.str() + ", not " + asked.str();
  seen.mine = {};
  seen.targets.clear();
  return seen;
}

}  // namespace holdfast::core
