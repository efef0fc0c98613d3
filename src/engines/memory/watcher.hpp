#pragma once

#include "core/ledger.hpp"
#include "io/thread/notice.hpp"

#include <functional>
#include <utility>

namespace holdfast::engines::memory {

/// One armed watch: a notice, and what it waits for.
///
/// Thread safety: every function, from any thread.
class watcher : public io::notice {
 public:
  watcher(core::watch_request what, std::function<void()> notify)
      : notice(std::move(notify)), what_(std::move(what)) {}

  /// True when one of the targets is gone.
  bool hit(const core::ledger& l) const;

 private:
  const core::watch_request what_;
};

}  // namespace holdfast::engines::memory
