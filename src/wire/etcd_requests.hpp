#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Requests of etcd's version 3 interface: the fields that are used here. See etcdserver/
/// etcdserverpb/rpc.proto of etcd 3.4.
namespace holdfast::wire::etcd {

// Where each request is sent.
inline constexpr std::string_view range_path = "/etcdserverpb.KV/Range";
inline constexpr std::string_view txn_path = "/etcdserverpb.KV/Txn";
inline constexpr std::string_view watch_path = "/etcdserverpb.Watch/Watch";
inline constexpr std::string_view authenticate_path = "/etcdserverpb.Auth/Authenticate";
inline constexpr std::string_view status_path = "/etcdserverpb.Maintenance/Status";

/// What etcd accepts in one transaction unless it is told otherwise (--max-txn-ops).
inline constexpr std::size_t txn_ops_max = 128;

/// Keys from `key` to `end`; `end` empty: the one key.
struct span {
  std::string key{};
  std::string end{};
};

struct range {
  span keys{};
  std::int64_t limit{};
  std::int64_t revision{};       ///< Zero: now, and linearizable.
  std::int64_t created_until{};  ///< Only keys that were created by then; zero: all.
  std::int64_t created_from{};
  bool keys_only{};
  bool count_only{};
};

struct put {
  std::string key{};
  std::string value{};
};

struct erase {
  span keys{};
};

/// True when it holds for every key of the span; a span without keys counts as one key of which
/// every number is zero.
struct compare {
  enum class target : std::uint8_t { version = 0, create = 1, mod = 2 };
  enum class relation : std::uint8_t { equal = 0, greater = 1, less = 2, not_equal = 3 };
  span keys{};
  target what{target::create};
  relation how{relation::equal};
  std::int64_t number{};
};

struct txn;

struct op {
  std::variant<range, put, erase, std::shared_ptr<const txn>> what;
};

/// One atomic step: `then` when every compare holds, else `otherwise`. Transactions nest.
struct txn {
  std::vector<compare> compares{};
  std::vector<op> then{};
  std::vector<op> otherwise{};
};
op nested(txn t);

std::string encode(const range& r);
std::string encode(const txn& t);
std::string encode_authenticate(std::string_view user, std::string_view password);

/// A watch for deletions of `keys` from `start_revision` on; zero: from now on.
struct watch_deletions {
  span keys{};
  std::int64_t start_revision{};
  std::int64_t watch_id{};  ///< Chosen by us, not zero.
};
std::string encode(const watch_deletions& w);
std::string encode_watch_cancel(std::int64_t watch_id);

}  // namespace holdfast::wire::etcd
