#pragma once

#include "core/rules.hpp"

#include <span>
#include <string_view>

namespace holdfast::sim {

/// One of the protocol's rules by name, with the scenario that shows best what it is for.
struct rule_switch {
  std::string_view name;
  bool core::rules::*member;
  std::string_view scenario;
};

std::span<const rule_switch> rule_switches();

/// Removes one rule in this thread for as long as it lives.
class without_rule {
 public:
  explicit without_rule(const rule_switch& r) : removed_(r) {
    core::active.*removed_.member = false;
  }
  without_rule(const without_rule&) = delete;
  without_rule& operator=(const without_rule&) = delete;
  ~without_rule() { core::active.*removed_.member = true; }

 private:
  rule_switch removed_;
};

}  // namespace holdfast::sim
