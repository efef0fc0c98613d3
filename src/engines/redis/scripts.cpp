#include "engines/redis/scripts.hpp"

#include "engines/redis/script_texts.hpp"

namespace holdfast::engines::redis::scripts {

namespace {

using std::string_view;

/// The commands of each script. A test compares them with the rights that docs/redis.md gives a
/// user: without one of them a script is refused half-way.
constexpr string_view opens[]{"hmget", "hget", "hincrby", "hset", "sadd"};
constexpr string_view beats[]{"hmget", "unlink", "hincrby", "exists"};
constexpr string_view queues[]{"hmget",         "hget",    "hset",   "hincrby", "hdel",   "hexists",
                               "hscan",         "zadd",    "zrem",   "zcard",   "zcount", "zrange",
                               "zrangebyscore", "hgetall", "exists", "unlink",  "lindex", "lrange",
                               "lpop",          "rpush",   "publish"};
constexpr string_view ends[]{"hmget",  "hget",   "hset",   "hdel",   "hexists",
                             "hscan",  "zrem",   "zcount", "zrange", "zrangebyscore",
                             "exists", "lindex", "lrange", "lpop",   "rpush",
                             "del",    "unlink", "srem",   "publish"};
constexpr string_view lists[]{"hmget", "hgetall", "hlen", "scard", "smembers", "sscan", "srem"};
constexpr string_view glances[]{"hmget", "hgetall", "srandmember", "srem"};
constexpr string_view looks[]{"hmget"};
constexpr string_view writes[]{"hmget", "time", "unlink", "hset"};
constexpr string_view cleans[]{"hmget", "scan", "unlink", "hset", "hdel"};

}  // namespace

constexpr script open{"open", open_text, open_sha1, opens};
constexpr script beat{"beat", beat_text, beat_sha1, beats};
constexpr script close{"close", close_text, close_sha1, ends};
constexpr script enqueue{"enqueue", enqueue_text, enqueue_sha1, queues};
constexpr script confirm{"confirm", confirm_text, confirm_sha1, queues};
constexpr script leave{"leave", leave_text, leave_sha1, queues};
constexpr script take{"take", take_text, take_sha1, ends};
constexpr script deny{"deny", deny_text, deny_sha1, ends};
constexpr script sweep_more{"sweep_more", sweep_more_text, sweep_more_sha1, ends};
constexpr script list{"list", list_text, list_sha1, lists};
constexpr script glance{"glance", glance_text, glance_sha1, glances};
constexpr script look{"look", look_text, look_sha1, looks};
constexpr script write{"write", write_text, write_sha1, writes};
constexpr script clean{"clean", clean_text, clean_sha1, cleans};

constexpr std::array<const script*, 14> all{&open,   &beat, &close, &enqueue,    &confirm,
                                            &leave,  &take, &deny,  &sweep_more, &list,
                                            &glance, &look, &write, &clean};

}  // namespace holdfast::engines::redis::scripts
