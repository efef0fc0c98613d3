#include "sim/redlock/rule_switches.hpp"

#include <array>

namespace holdfast::sim::redlock {

namespace {

using core::redlock::rules;

constexpr std::array<bool rules::*, 2> epoch_checks{&rules::raise_checks_epoch,
                                                    &rules::acquire_checks_epoch};

constexpr std::array switches{
    rule_switch{"count_from_send", &rules::count_from_send, nullptr, "slow"},
    rule_switch{"majority_of_configured", &rules::majority_of_configured, nullptr, "partitions"},
    rule_switch{"raise_before_use", &rules::raise_before_use, nullptr, "calm"},
    rule_switch{"late_counter_never_counts", &rules::late_counter_never_counts, nullptr,
                "evictions"},
    rule_switch{"judged_connection_only", &rules::judged_connection_only, nullptr, "stale"},
    rule_switch{"raise_on_same_connection", &rules::raise_on_same_connection, nullptr, "unsealed"},
    rule_switch{"raise_checks_epoch", &rules::raise_checks_epoch, nullptr, "backups"},
    rule_switch{"acquire_checks_epoch", &rules::acquire_checks_epoch, nullptr, "unsealed"},
    rule_switch{"refuse_lost_state", &rules::refuse_lost_state, nullptr, "amnesia"},
    rule_switch{"wait_before_rejoin", &rules::wait_before_rejoin, nullptr, "amnesia"},
    rule_switch{"wait_full_time", &rules::wait_full_time, nullptr, "amnesia"},
    rule_switch{"wait_by_longest", &rules::wait_by_longest, nullptr, "max_ttl"},
    rule_switch{"wait_by_seen_later", &rules::wait_by_seen_later, nullptr, "max_ttl"},
    rule_switch{"rejoin_with_longest", &rules::rejoin_with_longest, nullptr, "max_ttl"},
    rule_switch{"wait_then_seal", &rules::wait_then_seal, nullptr, "late_after_loss", epoch_checks},
    rule_switch{"seal_enough_others", &rules::seal_enough_others, nullptr, "outages"},
    rule_switch{"seal_only_admitted", &rules::seal_only_admitted, nullptr, "outages"},
    rule_switch{"rejoin_restarted_first", &rules::rejoin_restarted_first, nullptr, "older"},
    rule_switch{"fresh_epoch", &rules::fresh_epoch, nullptr, "recovered"},
    rule_switch{"late_grant_from_attempt", &rules::late_grant_from_attempt, nullptr, "slow"},
    rule_switch{"renew_by_compare", &rules::renew_by_compare, nullptr, "slow"},
    rule_switch{"extend_only_in_time",
                nullptr,
                nullptr,
                "slow",
                {},
                rule_switch::seen::broken,
                &core::rules::extend_only_in_time},
    rule_switch{"drop_lost_nodes", &rules::drop_lost_nodes, nullptr, "gaps"},
    rule_switch{"per_node_deadlines", &rules::per_node_deadlines, nullptr, "slow"},
    rule_switch{"repair_with_majority", &rules::repair_with_majority, nullptr, "gaps"},
    rule_switch{"count_servers_once", &rules::count_servers_once, nullptr, "proxies"},
    rule_switch{"step_like_restart", &rules::step_like_restart, nullptr, "clocks"},
    rule_switch{"record_is_no_step",
                &rules::record_is_no_step,
                nullptr,
                "records",
                {},
                rule_switch::seen::in_records},
    rule_switch{"answer_of_its_write",
                &rules::answer_of_its_write,
                nullptr,
                "records",
                {},
                rule_switch::seen::in_records},
    rule_switch{"vote_after_note", &rules::vote_after_note, nullptr, "notes"},
    rule_switch{"lost_notes_stay_lost", &rules::lost_notes_stay_lost, nullptr, "notes"},
    rule_switch{"look_for_recover", &rules::look_for_recover, nullptr, "recovered"},
    rule_switch{"meet_in_one_epoch", &rules::meet_in_one_epoch, nullptr, "gone"},
    rule_switch{"compare_nonce", nullptr, &script_rules::compare_nonce, "proxies"},
    rule_switch{"keep_floor", nullptr, &script_rules::keep_floor, "calm"},
    rule_switch{"cache_has_epoch", nullptr, &script_rules::cache_has_epoch, "backups"},
    rule_switch{"raise_by_compare", nullptr, &script_rules::raise_by_compare, "evictions"},
    rule_switch{"release_by_compare", nullptr, &script_rules::release_by_compare, "calm"},
    rule_switch{"put_only_if_free", nullptr, &script_rules::put_only_if_free, "calm"},
    rule_switch{"write_by_compare", nullptr, &script_rules::write_by_compare, "amnesia"},
    rule_switch{"write_keeps_floor", nullptr, &script_rules::write_keeps_floor, "restarts"},
    rule_switch{"seal_only_upwards", nullptr, &script_rules::seal_only_upwards, "unsealed"},
    rule_switch{"refuse_denied", nullptr, &script_rules::refuse_denied, "denials"},
    rule_switch{"deny_lasts", nullptr, &script_rules::deny_lasts, "denials"},
};

}  // namespace

std::span<const rule_switch> rule_switches() { return switches; }

}  // namespace holdfast::sim::redlock
