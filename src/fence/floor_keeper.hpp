#pragma once

#include "fence/gate_machine.hpp"

#include <holdfast/error.hpp>
#include <holdfast/fencing_token.hpp>

#include <functional>
#include <optional>
#include <string>

namespace holdfast::fencing {

/// What is kept of one resource.
struct floor_record {
  floors now{};
  std::optional<token_source> from{};  ///< Nothing: no token has named its source yet.
  friend bool operator==(const floor_record&, const floor_record&) = default;
};

/// Where the floors of one resource outlive the process, and where processes meet.
///
/// Thread safety: none; a gate uses it under its mutex.
class floor_keeper {
 public:
  /// What comes after the record that is there; an error is passed on, once that record is on the
  /// disk, and changes nothing.
  using step = std::function<result<floor_record>(const floor_record&)>;

  floor_keeper() = default;
  floor_keeper(const floor_keeper&) = delete;
  floor_keeper& operator=(const floor_keeper&) = delete;
  virtual ~floor_keeper() = default;

  /// A record without floors and source when there is none yet. Errors: `unavailable`, `damaged`.
  virtual result<floor_record> read() = 0;

  /// One atomic step among all processes. When it answers, what it answers is on the disk.
  /// After a failure the record may be the old one or the next.
  virtual result<floor_record> update(const step& next) = 0;

  /// Whether no other process has a pass that is in the way of one of this token and kind. When
  /// true, this process is now seen to have passes of the kinds in `keep`.
  struct kinds {
    bool exclusive{};
    bool shared{};
  };
  virtual result<bool> others_ended(token t, sharing how, kinds keep) = 0;
  /// An exclusive `t` was the newest when no older pass was left, and so there will be none: others
  /// that arrive with it need not wait.
  virtual void settled(token t) noexcept = 0;
  /// This process has no pass of that kind any more.
  virtual void ended(sharing how) noexcept = 0;
  /// For people: the file that processes with passes have open; empty: there is none.
  virtual std::string where() const { return {}; }
};

}  // namespace holdfast::fencing
