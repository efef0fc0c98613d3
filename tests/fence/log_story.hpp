#pragma once

#include "tests/fence/log_machine.hpp"

#include <map>
#include <random>
#include <string>
#include <vector>

namespace holdfast::tests {

/// Random calls on one log and what a log has to answer, written as simply as can be: a list of
/// records, each with what its writer was told.
class log_story {
 public:
  explicit log_story(std::uint64_t seed,
                     const log_options& options = {.segment_bytes = 4096, .reserve_bytes = 512})
      : machine_(seed), random_(seed), options_(options) {}

  log_machine& machine() { return machine_; }

  /// From now on calls may also fail with `unavailable`.
  void may_fail() { may_fail_ = true; }
  /// One random call. `crashes`: the power may also go between two calls.
  void step(bool crashes);
  /// As many calls as that, until the disk is off.
  void play(int steps, bool crashes);
  /// The power goes, or has gone; everybody forgets, and the log is opened and looked at.
  void recover() { recover_with(tried_ + 1); }
  void recover_with(std::uint64_t token);
  /// Reads all and compares; nothing is allowed to be missing, twice, late or of a refused append.
  void look();

 private:
  enum class fate : std::uint8_t { acknowledged, durable, unknown, refused };
  struct writer {
    log_machine::owner log;
    bool newest{};
  };

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  void open();
  void append();
  void others();
  void heard(const error& why, const std::string& record, bool newest);
  void is_durable();
  std::size_t check(const std::vector<std::pair<std::uint64_t, std::string>>& seen, bool lost);

  log_machine machine_;
  std::mt19937_64 random_;
  log_options options_;
  std::vector<writer> writers_;
  std::uint64_t token_{};  ///< Nobody older may write.
  std::uint64_t tried_{};  ///< The newest that was tried at all.
  bool may_fail_{};
  bool made_{};            ///< The log, by a writer that opened it.
  bool failed_opening_{};  ///< Of a newer writer, which may have raised the epoch.
  std::uint64_t next_name_{};
  std::map<std::string, fate> told_;
  std::vector<std::string> order_;  ///< Acknowledged, in the order of their numbers.
  std::map<std::string, std::uint64_t>
      number_;              ///< Of acknowledged ones and of those that were read.
  std::uint64_t first_{1};  ///< Records before it were discarded.
};

}  // namespace holdfast::tests
