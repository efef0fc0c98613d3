#pragma once

#include "core/redlock/rules.hpp"
#include "core/rules.hpp"
#include "sim/redlock/driver_rules.hpp"
#include "sim/redlock/script_rules.hpp"

#include <span>
#include <string_view>

namespace holdfast::sim::redlock {

/// One of Redlock's rules by name, with the scenario that shows what it is for.
///
/// Some rules guard the same promise twice. Then `also` names what is removed besides: without that
/// alone nothing is found, without both something is.
struct rule_switch {
  /// What is seen without it: a broken promise, or records that are wrong or without a reason.
  enum class seen : bool { broken, in_records };
  std::string_view name;
  std::string_view scenario;
  bool core::redlock::rules::*machine{};
  bool script_rules::*script{};
  bool driver_rules::*driver{};
  bool core::rules::*lease{};  ///< It is one of every engine's leases.
  std::span<bool core::redlock::rules::*const> also{};
  seen by{seen::broken};
};

std::span<const rule_switch> rule_switches();

/// Removes rules in this thread for as long as it lives.
class without_rule {
 public:
  /// The rule and what is removed besides, or only the latter.
  enum class what : bool { rule, only_besides };
  explicit without_rule(const rule_switch& r, what w = what::rule) {
    for (const auto member : r.also) core::redlock::active.*member = false;
    if (w == what::only_besides) return;
    if (r.machine != nullptr) core::redlock::active.*r.machine = false;
    if (r.script != nullptr) scripts.*r.script = false;
    if (r.driver != nullptr) drivers.*r.driver = false;
    if (r.lease != nullptr) core::active.*r.lease = false;
  }
  without_rule(const without_rule&) = delete;
  without_rule& operator=(const without_rule&) = delete;
  ~without_rule() {
    core::active = {};
    core::redlock::active = {};
    scripts = {};
    drivers = {};
  }
};

}  // namespace holdfast::sim::redlock
