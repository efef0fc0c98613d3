#pragma once

#include "core/redlock/life_notes.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace holdfast::engines::redis {

/// The store's record as it is on the server; see keys.hpp. A field that is missing is empty.
struct store_record {
  bool there{};  ///< False: no field at all.
  bool whole{};  ///< Every field is there and can be read.
  std::string format{};
  std::string nonce{};
  std::string run_id{};
  std::string admitted_text{};
  bool admitted{};
  std::uint64_t floor{};
  duration max_ttl{};
  std::string max_ttl_text{};
  bool max_ttl_inherited{};  ///< From the life before; else who wrote it went by its URL.
  bool durable{};
  std::string database{};  ///< Its number as who wrote it named it; empty: it did not.
  bool uncleaned{};        ///< Keys of earlier lives may be left.

  /// Its max_ttl is the store's, and no URL changes it.
  bool inherited() const noexcept { return whole && (admitted || max_ttl_inherited); }
};

/// Decides whether a server may be used: the wait of docs/redis.md, done by its clients. Pure.
///
/// | the record                              | what it means         | what is done            |
/// |-----------------------------------------|-----------------------|-------------------------|
/// | none, or not whole                      | new, or all was lost  | a new life, which waits |
/// | of another process, not durable twice   | newest writes lost    | a new life, which waits |
/// | of another database                     | swapped: another's    | a new life, which waits |
/// | its floor is below a token it gave      | set back: a backup    | a new life, which waits |
/// | of another process, durable both times  | nothing was lost      | the process is recorded |
/// | without the number of its database      | somebody deleted that | the number is written   |
/// | waits, with a max_ttl that is too short | its writer knew less  | the longer is written   |
/// | waits, and was first seen long enough   | all old leases ended  | admitted                |
///
/// "Long enough" is max_ttl * (1 + rho) + margin on this host. max_ttl is lost with the record, and
/// who writes the next may not know it: then whoever does, by its URL or by the record that was
/// there, lengthens the wait for all, for they read it again before they admit. A new life has a
/// new nonce, and with it other keys: sessions and locks of the one before are gone, and their
/// holders are told so by their next heartbeat or by their leases' end, both before the wait is
/// over. Nothing is concluded from a time that the server says.
///
/// Thread safety: none; one owner.
class admission {
 public:
  struct config {
    duration max_ttl{};
    bool max_ttl_given{};
    bool assume_fresh{};      ///< No wait at the first use: somebody says that nothing is held.
    bool was_ready{};         ///< This process has used the store before.
    duration seen_max_ttl{};  ///< And that was its max_ttl; zero: not known.
  };
  struct sight {
    std::string run_id{};
    std::string database{};  ///< In which the record was found.
    bool durable{};
    store_record record{};
    std::uint64_t known{};  ///< The largest token or incarnation this client was given here.
    std::string fresh{};    ///< A nonce that was never used.
  };

  /// Compare the seen texts, then replace the record.
  struct write {
    std::array<std::string, 4> seen{};  ///< nonce, run_id, admitted, max_ttl
    store_record record{};              ///< `floor`: at least this.
  };
  struct ready {
    std::string nonce{};
    bool uncleaned{};
  };
  struct wait {
    time_point until{};
    std::string why{};
  };
  using verdict = std::variant<ready, write, wait, error>;

  explicit admission(config c, core::redlock::life_notes notes = {})
      : config_(c),
        was_ready_(c.was_ready),
        seen_max_ttl_(c.seen_max_ttl),
        notes_(std::move(notes)) {}

  /// What earlier clients of this process saw. Before anything else.
  void recall(const core::redlock::life_notes& sights) { notes_.recall(sights); }
  verdict judge(const sight& s, time_point now);
  const core::redlock::life_notes& notes() const noexcept { return notes_; }
  bool was_ready() const noexcept { return was_ready_; }
  duration seen_max_ttl() const noexcept { return seen_max_ttl_; }

 private:
  /// For a life that is not admitted yet.
  verdict wait_out(const sight& s, time_point now);
  /// With what is known of the max_ttl of earlier lives.
  write new_life(const sight& s) const;
  duration longest_known(const store_record& r) const noexcept;

  config config_;
  bool was_ready_{};         ///< What was taken here may be held, though the server forgot it.
  duration seen_max_ttl_{};  ///< That of the store as it was used last; zero: never.
  core::redlock::life_notes notes_;
};

}  // namespace holdfast::engines::redis
