#include "engines/redlock/scripts.hpp"

#include "engines/redlock/script_texts.hpp"

namespace holdfast::engines::redlock::scripts {

namespace {

using std::string_view;

constexpr string_view grants[]{"hmget", "hget", "time", "pttl", "get", "hset", "set"};
constexpr string_view raises[]{"hmget", "time", "get", "hset", "set"};
constexpr string_view releases[]{"get", "del", "pubsub|numsub", "publish"};
constexpr string_view renews[]{"hmget", "hget", "time", "mget", "pexpire", "hset"};
constexpr string_view renews_plain[]{"mget", "pexpire"};
constexpr string_view opens[]{"hmget", "hget", "hset", "pexpire"};
constexpr string_view closes[]{"hget", "del"};
constexpr string_view denies[]{"hmget", "hset", "pexpire"};
constexpr string_view lists[]{"scan", "hgetall", "strlen", "get", "pttl"};
constexpr string_view looks[]{"time", "exists", "hmget"};
constexpr string_view seals[]{"hmget", "unlink", "hset"};
constexpr string_view writes[]{"hmget", "exists", "time", "unlink", "hset"};

}  // namespace

constexpr script acquire{"acquire", acquire_text, acquire_sha1, grants};
constexpr script raise{"raise", raise_text, raise_sha1, raises};
constexpr script repair{"repair", repair_text, repair_sha1, grants};
constexpr script release{"release", release_text, release_sha1, releases};
constexpr script renew{"renew", renew_text, renew_sha1, renews};
constexpr script renew_plain{"renew_plain", renew_plain_text, renew_plain_sha1, renews_plain};
constexpr script open{"open", open_text, open_sha1, opens};
constexpr script close{"close", close_text, close_sha1, closes};
constexpr script deny{"deny", deny_text, deny_sha1, denies};
constexpr script list{"list", list_text, list_sha1, lists};
constexpr script look{"look", look_text, look_sha1, looks};
constexpr script seal{"seal", seal_text, seal_sha1, seals};
constexpr script write{"write", write_text, write_sha1, writes};

constexpr std::array<const script*, 13> all{&acquire,     &raise, &repair, &release, &renew,
                                            &renew_plain, &open,  &close,  &deny,    &list,
                                            &look,        &seal,  &write};

}  // namespace holdfast::engines::redlock::scripts
