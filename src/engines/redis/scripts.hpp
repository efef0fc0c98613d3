#pragma once

#include "io/redis/redis_script.hpp"

#include <array>
#include <string_view>

namespace holdfast::engines::redis {

using script = io::redis_script;

/// First words of the errors that the scripts answer with: certainly not done, unless said
/// otherwise. All other errors come from the server, with its own first word.
namespace refusal {
inline constexpr std::string_view not_admitted{"HFNOTADMITTED"};  ///< Another life, or it waits.
inline constexpr std::string_view gone{"HFGONE"};        ///< No such session, incarnation, entry.
inline constexpr std::string_view denied{"HFDENIED"};    ///< `HFDENIED WHO<tab>WHY`
inline constexpr std::string_view gate{"HFGATE"};        ///< Second word: the record's gate.
inline constexpr std::string_view many{"HFMANY"};        ///< As many live entries as are allowed.
inline constexpr std::string_view ttl{"HFTTL"};          ///< Second word: max_ttl in nanoseconds.
inline constexpr std::string_view counter{"HFCOUNTER"};  ///< No token below 2^53 is left.
inline constexpr std::string_view large{"HFLARGE"};      ///< More entries than list may answer.
inline constexpr std::string_view damaged{"HFDAMAGED"};  ///< Not what holdfast writes.
}  // namespace refusal

/// What this engine asks of a Redis 6.0 or later, the same over RESP2 and RESP3: each script is one
/// step, and all arguments are in ARGV, for the keys follow from what the step finds. The order of
/// the arguments is in the first lines of each file in `scripts/`.
///
/// Numbers that may need more than 32 bits are texts of decimal digits in both directions. `left`
/// is 1 while entries of ended sessions are still to be swept: whoever sees it sends `sweep_more`.
///
/// | script     | reply                                                                        |
/// |------------|------------------------------------------------------------------------------|
/// | open       | [inc, beat, gate]                                                            |
/// | beat       | [left]                                                                       |
/// | close      | [left]                                                                       |
/// | enqueue    | [1, order, left] granted; [2, order, left, entries, sessions, record] queued |
/// |            | the same with 3: busy, and no entry was left                                 |
/// |            | the same with 4: another mode is there, and no entry was left                |
/// | confirm    | the same without 3 and 4                                                     |
/// | leave      | [gate or 0 without a session, left]                                          |
/// | take       | [1, left]; [0, inc, beat, denied]: changed                                   |
/// | deny       | [1 if it was denied before, ttl, left]                                       |
/// | sweep_more | [left]                                                                       |
/// | list       | [[id, record]...], [field, entry, ...], where the next page begins (0: none),|
/// |            | [session...] of this page that did not fit                                   |
/// | glance     | [session...], or whole: [[id, record]...]                                    |
/// | look       | the store's record: the fields of keys.hpp in order, null where missing      |
/// | write      | 1 written; 0: the record is another than was seen                            |
/// | clean      | 1 while more is left to clean                                                |
///
/// session of glance: a text `id inc beat denied ttl device inode`. Of the others:
/// entries: those ahead, oldest first, and with 2 one's own; sessions: a text for each that has
/// one, `id inc beat denied ttl device inode pid`; record: all fields of the oldest's session.
namespace scripts {

extern const script open;
extern const script beat;
extern const script close;
extern const script enqueue;
extern const script confirm;
extern const script leave;
extern const script take;
extern const script deny;
extern const script sweep_more;
extern const script list;
extern const script glance;
extern const script look;
extern const script write;
extern const script clean;

/// Every script, to load them on a new connection.
extern const std::array<const script*, 14> all;

}  // namespace scripts

}  // namespace holdfast::engines::redis
