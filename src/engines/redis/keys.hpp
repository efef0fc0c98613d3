#pragma once

#include <string_view>

namespace holdfast::engines::redis {

/// The store's record, a hash without a ttl:
///
/// | field    | value                                                                          |
/// |----------|--------------------------------------------------------------------------------|
/// | format   | 1                                                                              |
/// | nonce    | 16 hexadecimal digits, new after every loss of state: a life of the data       |
/// | run_id   | of the server process that was accepted                                        |
/// | admitted | 0: it waits until every earlier grant has ended; nothing is granted            |
/// | floor    | no token and no incarnation was above it; every one is counted here            |
/// | max_ttl  | nanoseconds                                                                    |
/// | inherited| 1: max_ttl is that of the life before, else a URL's or the default             |
/// | durable  | 1 while the server was last seen to sync every write, else 0                   |
/// | swept    | whose entries are being removed, and how far that is; not always there         |
/// | uncleaned| where to go on with removing keys of earlier lives; not there: that is done    |
/// | database | its number: SWAPDB may put the record, and all the rest, into another one      |
///
/// All other keys begin with `holdfast:NONCE:`, so that those of an earlier life are never read:
///
/// | key              | type   | what                                                            |
/// |------------------|--------|-----------------------------------------------------------------|
/// | session:ID       | hash   | one session: inc, beat, denied, gate, ttl, who and where it is   |
/// | sessions         | set    | the ids of all                                                  |
/// | held:ID:INC      | hash   | `REQUEST:NAME` -> entry, whose owner knows that it holds        |
/// | waiting:ID:INC   | hash   | the same, of all others                                         |
/// | x:NAME           | zset   | exclusive entries by order; r: shared, p: permits               |
/// | ended            | list   | `ID:INC` of sessions whose entries are still to be removed; one |
/// |                  |        | that is neither over nor denied names nothing                   |
///
/// An entry is `ORDER:ID:INC:REQUEST:MODE:SINCE:CLIENT`. No key has a ttl.
inline constexpr std::string_view store_key{"holdfast:store"};

/// Followed by the client's id: one channel for each client, whatever it waits for. A message is
/// `ORDER`, of the waiting entry that should look again, or `ORDER+PREFIX`, which gives it the
/// lock: PREFIX is `holdfast:NONCE:`, of the life of the data in which it was given.
inline constexpr std::string_view wake_prefix{"holdfast:wake:"};

}  // namespace holdfast::engines::redis
