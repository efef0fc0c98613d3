#pragma once

#include "core/backoff.hpp"
#include "core/redlock/node_record.hpp"
#include "core/redlock/quorum.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::core::redlock {

/// Lifts one admitted node to `epoch` and reads its floor, in one script, which refuses when the
/// nonce differs or the node's epoch is equal or higher.
struct seal {
  node_index node{};
  /// Who rejoins: tells the answers of two rejoins apart. The node itself where nobody does.
  node_index target{};
  std::string nonce{};
  std::uint64_t epoch{};
  /// Which of its rounds, also of those that were given up: the next may be in the same epoch.
  std::uint64_t round{};
};
struct seal_reply {
  enum class result : std::uint8_t { sealed, refused, failed } what{result::failed};
  std::uint64_t floor{};  ///< sealed: what it had.
  std::uint64_t epoch{};  ///< refused: what it has; zero when the nonce differs.
};

/// Replaces a node's record by compare: only while it has this nonce and epoch (or, with an empty
/// nonce, no record). The script keeps the larger of the two floors and the node's own TIME.
/// Sent only on the connection whose facts it follows, never again on another: behind that may be
/// a process that restored the very state that is compared.
struct write {
  node_index node{};
  std::string nonce_seen{};
  std::uint64_t epoch_seen{};
  node_record record{};
};
enum class write_reply : std::uint8_t { written, changed, failed };

/// How long the answer to a seal is waited for. One that is late is no less true: a node that is
/// too slow to grant in time may be the one without which no other comes back.
constexpr duration seal_limit(duration node_timeout) noexcept {
  return std::max<duration>(node_timeout, std::chrono::seconds{2});
}

/// Brings one node back among the voters. Pure.
///
/// | state   | what it does                                   | then                              |
/// |---------|------------------------------------------------|-----------------------------------|
/// | waiting | nothing until max_ttl * (1 + rho) + margin     | sealing                           |
/// | sealing | seals one epoch, above all seen, on the others | enough: writing; else pausing     |
/// | pausing | nothing for a moment                           | sealing with a higher epoch       |
/// | writing | the record, by compare                         | written: done; changed: overtaken |
///
/// The wait is for time: who was granted before the loss may still hold. The seal is for tokens: a
/// grant that counted this node before the loss either was confirmed on a sealed node before its
/// floor was read, or is refused there afterwards. Wait first, then read: floors that are read
/// before the wait are broken without the seal (models/tokens.pml, READ_THEN_WAIT). All reachable
/// others are sealed, so that no node is left behind in an old epoch; who does not answer within a
/// node timeout is waited for no longer than it is needed, and up to seal_limit().
///
/// A driver that dies is repeated by any other, with a higher epoch.
///
/// Thread safety: none; one owner.
class rejoin {
 public:
  enum class state : std::uint8_t { waiting, sealing, pausing, writing, done, overtaken };
  struct config {
    std::size_t nodes{};
    node_index node{};
    node_record seen{};  ///< What the node has now: nonce and epoch are compared by the write.
    std::string run_id{};
    bool durable{};
    time_point ready{};      ///< When the wait is over; time_point::min() when there is none.
    duration timeout{};      ///< The node timeout.
    std::uint64_t rounds{};  ///< Its seals have larger numbers, and those before it none of these.
    std::uint64_t seed{};
  };
  struct step {
    std::vector<seal> seals{};
    std::optional<write> record{};
    time_point wake{time_point::max()};
  };
  /// One other node that is admitted and connected.
  struct other {
    node_index node{};
    std::string nonce{};
    std::uint64_t epoch{};
  };

  explicit rejoin(config c);

  /// What others allow: the record that is written does so, too.
  void allow(duration max_ttl) noexcept;
  /// False: it has not begun, and these are too few for that.
  bool may_begin(const std::vector<other>& others) const noexcept;
  /// `others` as they are now; asked again with every tick.
  step tick(const std::vector<other>& others, time_point now);
  step sealed(const seal& asked, const seal_reply& r, time_point now);
  step written(write_reply r, time_point now);

  state current() const noexcept { return state_; }
  /// Of how many nodes the last round needed an answer and had none.
  std::size_t lacked() const noexcept { return lacked_; }
  /// What it is now that it is done.
  const node_record& result() const noexcept;

 private:
  step begin(const std::vector<other>& others, time_point now);
  step finish_seal(time_point now);
  step write_now(time_point now);
  step pause(time_point now);
  step rest(time_point now) const;
  std::size_t enough() const noexcept;
  bool is_decided() const noexcept;
  bool is_over(time_point now) const noexcept;
  void forget_absent(const std::vector<other>& others);

  config config_;
  state state_{state::waiting};
  std::uint64_t round_{};
  std::uint64_t epoch_{};
  std::uint64_t highest_{};
  std::uint64_t floor_{};
  node_set asked_;
  node_set answered_;
  node_set sealed_;
  std::size_t overtaken_{};  ///< Refused: somebody else seals, too.
  std::size_t lacked_{};
  time_point deadline_{};
  time_point give_up_{};  ///< sealing: who is needed is waited for until then.
  bool sent_write_{};
  backoff pause_;
  node_record record_{};
};

}  // namespace holdfast::core::redlock
