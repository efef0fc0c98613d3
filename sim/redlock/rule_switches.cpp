#include "sim/redlock/rule_switches.hpp"

#include <array>

namespace holdfast::sim::redlock {

namespace {

using core::redlock::rules;

constexpr std::array<bool rules::*, 2> epoch_checks{&rules::raise_checks_epoch,
                                                    &rules::acquire_checks_epoch};

constexpr std::array wait_alone{&rules::wait_before_rejoin};

constexpr rule_switch of_machine(std::string_view name, bool rules::*rule,
                                 std::string_view scenario) {
  return {.name = name, .scenario = scenario, .machine = rule};
}

constexpr rule_switch of_script(std::string_view name, bool script_rules::*rule,
                                std::string_view scenario) {
  return {.name = name, .scenario = scenario, .script = rule};
}

constexpr rule_switch of_driver(std::string_view name, bool driver_rules::*rule,
                                std::string_view scenario) {
  return {.name = name, .scenario = scenario, .driver = rule};
}

constexpr std::array switches{
    of_machine("count_from_send", &rules::count_from_send, "slow"),
    of_machine("majority_of_configured", &rules::majority_of_configured, "partitions"),
    of_machine("raise_before_use", &rules::raise_before_use, "calm"),
    of_machine("late_counter_never_counts", &rules::late_counter_never_counts, "evictions"),
    of_machine("judged_connection_only", &rules::judged_connection_only, "stale"),
    of_machine("raise_on_same_connection", &rules::raise_on_same_connection, "unsealed"),
    of_machine("raise_checks_epoch", &rules::raise_checks_epoch, "backups"),
    of_machine("acquire_checks_epoch", &rules::acquire_checks_epoch, "unsealed"),
    of_machine("refuse_lost_state", &rules::refuse_lost_state, "amnesia"),
    of_machine("wait_before_rejoin", &rules::wait_before_rejoin, "amnesia"),
    of_machine("wait_full_time", &rules::wait_full_time, "amnesia"),
    of_machine("wait_by_longest", &rules::wait_by_longest, "max_ttl"),
    of_machine("wait_by_seen_later", &rules::wait_by_seen_later, "max_ttl"),
    of_machine("rejoin_with_longest", &rules::rejoin_with_longest, "max_ttl"),
    rule_switch{.name = "wait_then_seal",
                .scenario = "late_after_loss",
                .machine = &rules::wait_then_seal,
                .also = epoch_checks},
    of_machine("ask_only_seen", &rules::ask_only_seen, "gone"),
    rule_switch{.name = "seal_others",
                .scenario = "late_after_loss",
                .machine = &rules::seal_others,
                .also = wait_alone},
    of_machine("seal_enough_others", &rules::seal_enough_others, "outages"),
    of_machine("seal_only_admitted", &rules::seal_only_admitted, "outages"),
    of_machine("rejoin_restarted_first", &rules::rejoin_restarted_first, "older"),
    of_machine("fresh_epoch", &rules::fresh_epoch, "recovered"),
    of_machine("late_grant_from_attempt", &rules::late_grant_from_attempt, "slow"),
    of_machine("renew_by_compare", &rules::renew_by_compare, "slow"),
    rule_switch{.name = "extend_only_in_time",
                .scenario = "slow",
                .lease = &core::rules::extend_only_in_time},
    of_machine("prove_own_attempt", &rules::prove_own_attempt, "slow"),
    rule_switch{
        .name = "subtract_drift", .scenario = "drift", .lease = &core::rules::subtract_drift},
    of_machine("drop_lost_nodes", &rules::drop_lost_nodes, "gaps"),
    of_machine("per_node_deadlines", &rules::per_node_deadlines, "slow"),
    of_machine("repair_with_majority", &rules::repair_with_majority, "gaps"),
    of_machine("settle_behind_acquire", &rules::settle_behind_acquire, "slow"),
    of_machine("settle_after_repair", &rules::settle_after_repair, "slow"),
    of_machine("count_servers_once", &rules::count_servers_once, "proxies"),
    of_machine("step_like_restart", &rules::step_like_restart, "clocks"),
    rule_switch{.name = "record_is_no_step",
                .scenario = "records",
                .machine = &rules::record_is_no_step,
                .by = rule_switch::seen::in_records},
    rule_switch{.name = "answer_of_its_write",
                .scenario = "records",
                .machine = &rules::answer_of_its_write,
                .by = rule_switch::seen::in_records},
    of_machine("step_since_last_look", &rules::step_since_last_look, "clocks"),
    of_machine("loss_beside_step", &rules::loss_beside_step, "outages"),
    of_machine("damage_is_loss", &rules::damage_is_loss, "damaged"),
    of_machine("session_by_majority", &rules::session_by_majority, "sessions"),
    rule_switch{.name = "seal_of_its_life",
                .scenario = "records",
                .machine = &rules::seal_of_its_life,
                .by = rule_switch::seen::in_records},
    of_machine("vote_after_note", &rules::vote_after_note, "notes"),
    of_machine("lost_notes_stay_lost", &rules::lost_notes_stay_lost, "notes"),
    of_machine("look_for_recover", &rules::look_for_recover, "recovered"),
    of_machine("meet_in_one_epoch", &rules::meet_in_one_epoch, "gone"),
    of_script("compare_nonce", &script_rules::compare_nonce, "proxies"),
    of_script("keep_floor", &script_rules::keep_floor, "calm"),
    of_script("cache_has_epoch", &script_rules::cache_has_epoch, "backups"),
    of_script("raise_by_compare", &script_rules::raise_by_compare, "evictions"),
    of_script("release_by_compare", &script_rules::release_by_compare, "calm"),
    of_script("put_only_if_free", &script_rules::put_only_if_free, "calm"),
    of_script("write_by_compare", &script_rules::write_by_compare, "amnesia"),
    of_script("write_keeps_floor", &script_rules::write_keeps_floor, "restarts"),
    of_script("seal_only_upwards", &script_rules::seal_only_upwards, "unsealed"),
    of_script("refuse_denied", &script_rules::refuse_denied, "denials"),
    of_script("deny_lasts", &script_rules::deny_lasts, "denials"),
    of_script("refuse_longer_ttl", &script_rules::refuse_longer_ttl, "overlong"),
    of_driver("fresh_value", &driver_rules::fresh_value, "scripts"),
    of_driver("stop_before_release", &driver_rules::stop_before_release, "calm"),
    of_driver("deny_enough", &driver_rules::deny_enough, "denials"),
    of_driver("ask_in_session", &driver_rules::ask_in_session, "sessions"),
    of_driver("count_suspend", &driver_rules::count_suspend, "slow"),
    of_driver("nonce_for_each_loss", &driver_rules::nonce_for_each_loss, "amnesia"),
    of_driver("connection_dies", &driver_rules::connection_dies, "plain"),
    of_driver("stop_before_lowering", &driver_rules::stop_before_lowering, "max_ttl"),
    of_driver("time_of_answers", &driver_rules::time_of_answers, "clocks"),
};

}  // namespace

std::span<const rule_switch> rule_switches() { return switches; }

}  // namespace holdfast::sim::redlock
