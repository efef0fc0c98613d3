#pragma once

#include "sim/context.hpp"

#include "core/engine.hpp"

#include <holdfast/mode.hpp>
#include <holdfast/token.hpp>

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace holdfast::sim {

class store;

/// One acquire from its first request until nothing of it can be left.
struct case_record {
  enum class stage : std::uint8_t { asking, holding, leaving };

  std::uint64_t serial{};
  session_truth* who{};
  mode how{mode::exclusive()};
  token order{};
  stage at{stage::asking};
  moment since{};
};

/// Watches a run on true time and says what went wrong. It has rules of its own for modes and
/// order, so that an error in core/queue cannot hide itself.
class oracle {
 public:
  explicit oracle(context& c);

  /// Would check() say ok now? Asks the session's lease without touching it.
  bool valid(const session_truth& s) const noexcept;

  std::uint64_t asks(session_truth& who, int name, const mode& how);
  void queued(session_truth& who, int name, std::uint64_t serial, token order);
  void granted(const store& s, session_truth& who, int name, std::uint64_t serial, token t);
  /// check() said ok and the protected work was done.
  void worked(session_truth& who, int name, std::uint64_t serial);
  void leaves(session_truth& who, int name, std::uint64_t serial);
  void ends(session_truth& who, int name, std::uint64_t serial);

  /// Looks at a store's whole table: who starves, was not woken, or was left behind.
  void audit(const store& s);
  /// From when on, and for how long, somebody may wait once nothing fails any more.
  moment judged_from() const noexcept { return judged_from_; }
  duration longest_wait() const noexcept { return longest_wait_; }
  /// A process that holds something; none when nobody does.
  process* some_holder();
  std::uint64_t grants() const noexcept { return grants_; }

 private:
  struct lock_history {
    std::vector<case_record> cases;
    token newest{};  ///< Of all grants.
    token newest_exclusive{};
    token newest_worked{};  ///< The newest exclusive token that worked.
  };
  enum class trouble : std::uint8_t { not_woken, ownerless, dead, record };
  using symptom = std::tuple<int, std::uint64_t, trouble>;  ///< Store, order, what.

  lock_history& of(int store, int name);
  case_record* find(session_truth& who, int name, std::uint64_t serial);
  void check_tokens(lock_history& h, const case_record& c);
  void check_others(const lock_history& h, const case_record& c);
  void check_turn(const store& s, const lock_history& h, const case_record& c, int name);
  void audit_records(const core::listing& all, int store);
  void audit_lock(const core::listing& all, const core::listed_lock& l, int store);
  void audit_entry(const core::listed_lock& l, std::size_t i, session_truth& owner, int store);
  void lasts(const symptom& s, duration limit, const char* text);
  session_truth* owner_of(const core::listing& all, const session_id& id);

  context& context_;
  std::map<std::pair<int, int>, lock_history> locks_;
  std::map<symptom, moment> since_;  ///< When each symptom was first seen.
  std::map<symptom, moment> still_;  ///< Those that this audit has seen again.
  std::uint64_t serials_{};
  std::uint64_t grants_{};
  moment judged_from_{};
  duration longest_wait_{};
  duration longest_wake_{};
};

/// The name with that number in every store.
lock_name name_number(int i);

}  // namespace holdfast::sim
