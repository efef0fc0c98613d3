#pragma once

namespace holdfast::sim::redlock {

/// The safety rules that live in the nodes' scripts, one switch each, as core/redlock/rules.hpp has
/// for those of the machines. (Three of those are the scripts', too: raise_checks_epoch,
/// acquire_checks_epoch and renew_by_compare.)
struct script_rules {
  bool compare_nonce = true;     ///< Another life of the data, or another node, is refused.
  bool keep_floor = true;        ///< A counter that is given lifts the floor, not only the cache.
  bool cache_has_epoch = true;   ///< A cached counter of another epoch is ignored.
  bool raise_by_compare = true;  ///< A raise is done only while our value is there.
  bool release_by_compare = true;
  bool put_only_if_free = true;   ///< An acquire or repair never replaces a value.
  bool write_by_compare = true;   ///< A record is replaced only if it is the one that was seen.
  bool write_keeps_floor = true;  ///< ... and the larger of both floors stays.
  bool seal_only_upwards = true;  ///< An equal or higher epoch refuses the seal.
  bool refuse_denied = true;      ///< A denied session is neither granted nor extended.
  bool refuse_longer_ttl = true;  ///< No key lives for longer than the record's max_ttl.
  bool deny_lasts = true;         ///< A denial outlives every lock that was granted before it.
};

inline thread_local script_rules scripts;

}  // namespace holdfast::sim::redlock
