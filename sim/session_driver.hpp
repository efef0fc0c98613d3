#pragma once

#include "sim/oracle.hpp"
#include "sim/process.hpp"
#include "sim/store.hpp"

#include "core/patrol.hpp"
#include "core/session_machine.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::sim {

class worker;

/// Does what one session_machine says, as the library's client does: opens, beats, removes the
/// record, and ends its workers' claims and locks with the session. When all of that is over it
/// opens another session, which shares nothing with the one before.
class session_driver {
 public:
  session_driver(context& c, oracle& judge, process& p, store& s);
  session_driver(const session_driver&) = delete;
  session_driver& operator=(const session_driver&) = delete;
  ~session_driver();

  void open_new();
  /// The owner closes.
  void close();
  /// An operator denies it.
  void deny();

  /// An operation of a worker was answered with gone or denied.
  void ended_by_engine(core::status what);
  /// A worker came to rest; the last one after the end opens the next session.
  void rested();

  bool usable() const noexcept { return machine_ && !machine_->is_final(); }
  session_truth& truth() noexcept { return *truth_; }
  store& engine() noexcept { return store_; }
  process& owner() noexcept { return process_; }
  std::uint64_t inc() const noexcept { return inc_; }
  std::uint64_t gate() const noexcept { return gate_; }
  /// Replies come in any order; a gate only grows.
  void saw_gate(std::uint64_t gate) noexcept;
  std::uint64_t next_request() noexcept { return ++requests_; }

 private:
  void send_open();
  void opened(const core::open_reply& r);
  void send_beat(std::uint64_t attempt);
  void beat_answered(std::uint64_t attempt, const beat_answer& a);
  void remove_record(int tries);
  void look_around();
  void seen_around(const core::glance_reply& r);
  void apply(core::session_machine::step s);
  void tell_workers(const core::session_machine::change& c);
  void arm(time_point wake);

  context& context_;
  oracle& judge_;
  process& process_;
  store& store_;
  session_truth* truth_{};
  std::optional<core::session_machine> machine_;
  std::optional<core::patrol> patrol_;  ///< Where the scenario has it; one for each session here.
  std::vector<std::unique_ptr<worker>> workers_;
  std::uint64_t epoch_{};  ///< Of the session; what belonged to an earlier one is void.
  std::uint64_t timer_{};
  std::uint64_t inc_{};
  std::uint64_t gate_{};
  std::uint64_t requests_{};
  std::uint64_t written_{};
  time_point open_sent_{};
  int open_tries_{};
  bool reopening_{};
};

}  // namespace holdfast::sim
