#pragma once

#include "sim/redlock/node.hpp"
#include "sim/redlock/scenario.hpp"
#include "sim/schedule.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::sim::redlock {

/// What must hold in every run, judged on true time and by its own books.
///
/// 1. Nobody is granted a lock while somebody else's lease on it runs, each read on its own clock,
///    and a lease that was over never runs again.
/// 2. A token is above every one that was granted before its attempt began, and is given once; with
///    exclusion, tokens grow in the order of the grants, which is what a fence sees.
/// 3. Nobody holds a lock that so many nodes said to have lost that no majority is left.
/// 4. No node keeps a lock for longer than the ttl of who asked, and what somebody held who died
///    is the next one's soon after that.
/// 5. A denied session is granted nothing for a ttl, and what it held is over after one.
/// 6. After the last fault everybody is granted what they wait for, every node votes again, and in
///    the end no node has anything left but its record.
/// 7. What was released everywhere, as its owner may say, is set by nothing that was sent before.
class oracle {
 public:
  explicit oracle(const scenario& s, std::function<moment()> now);

  /// One client's hold of one lock, as the oracle asks about it.
  struct holder {
    int client{};
    std::uint32_t session{};
    std::uint32_t lock{};
    std::uint64_t token{};
    moment began{};
    moment granted{};
    duration ttl{};
    std::size_t there{};  ///< Nodes whose last word was that the lock is there.
    bool was_over{};      ///< Its deadline had passed once.
  };
  struct beginning {
    moment at{};
    std::uint64_t newest{};  ///< The largest token of the lock that was granted before.
  };

  beginning begin(std::uint32_t lock) const;
  /// `others_valid`: how many other clients' leases on it run now.
  void granted(const holder& h, const beginning& began, std::size_t others_valid);
  /// The lease of `h` runs after an answer was judged.
  void goes_on(const holder& h, std::size_t others_valid);
  void denied(std::uint32_t session);
  /// How long a node keeps a lock at most, before and after it did what somebody asked.
  void keeps(milliseconds before, milliseconds after, duration ttl);
  /// Its owner takes `value` for gone from every node, for good.
  void released(std::uint64_t value) { released_.insert(value); }
  /// A node sets a key to `value`, less than one ttl after that was sent.
  void sets(std::uint64_t value);
  /// Nobody was granted what its holder left behind when it died, long ago and at `then`.
  void died(std::uint32_t lock, moment then);
  void violated(std::string what);

  std::uint64_t grants() const noexcept { return grants_; }
  const std::optional<std::string>& found() const noexcept { return found_; }

 private:
  struct history {
    std::uint64_t newest{};
    moment newest_at{};
    moment granted_at{};  ///< To anybody, for the last time.
    std::set<std::uint64_t> tokens{};
  };
  static std::string words(const holder& h);
  template <class Judge>
  bool was_denied(const holder& h, Judge judge) const;

  const scenario& setup_;
  std::function<moment()> now_;
  std::vector<history> locks_;
  std::multimap<std::uint32_t, moment> denied_;
  std::set<std::uint64_t> released_{};
  std::uint64_t grants_{};
  std::optional<std::string> found_;
};

}  // namespace holdfast::sim::redlock
