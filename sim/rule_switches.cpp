#include "sim/rule_switches.hpp"

#include <array>

namespace holdfast::sim {

namespace {

constexpr std::array<rule_switch, 13> switches{{
    {"count_from_send", &core::rules::count_from_send, "silence"},
    {"prove_own_attempt", &core::rules::prove_own_attempt, "silence"},
    {"extend_only_in_time", &core::rules::extend_only_in_time, "silence"},
    {"compare_on_take", &core::rules::compare_on_take, "silence"},
    {"wait_full_ttl", &core::rules::wait_full_ttl, "silence"},
    {"beat_never_revives", &core::rules::beat_never_revives, "silence"},
    {"confirm_after_wait", &core::rules::confirm_after_wait, "mixed"},
    {"gate_unknown_enqueue", &core::rules::gate_unknown_enqueue, "late_requests"},
    {"shared_watches_writer", &core::rules::shared_watches_writer, "wakes"},
    {"permits_agree", &core::rules::permits_agree, "disagreement"},
    {"refuse_denied", &core::rules::refuse_denied, "denials"},
    {"check_lease_at_grant", &core::rules::check_lease_at_grant, "silence"},
    {"patrol_waits", &core::rules::patrol_waits, "patrols"},
}};

}  // namespace

std::span<const rule_switch> rule_switches() { return switches; }

}  // namespace holdfast::sim
