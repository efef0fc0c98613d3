#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// Replies of etcd's version 3 interface: the fields that are used here. All texts are views into
/// the message, so that a reply costs at most a fixed multiple of its bytes.
namespace holdfast::wire::etcd {

struct header {
  std::uint64_t cluster{};
  std::uint64_t member{};
  std::int64_t revision{};
  std::uint64_t term{};
};

struct key_value {
  std::string_view key{};
  std::string_view value{};
  std::int64_t create{};
  std::int64_t mod{};
  std::int64_t version{};
};

struct range_reply {
  std::vector<key_value> all{};
  std::int64_t count{};
  bool more{};
};

struct op_reply;

struct txn_reply {
  header head{};
  bool succeeded{};
  std::vector<op_reply> ops;  // Not complete yet: without an initializer.
};

/// The answer to one operation of a transaction: which of the two there is depends on what was
/// asked; puts and deletions have neither.
struct op_reply {
  range_reply range{};
  std::vector<txn_reply> nested{};  ///< One, or none.
  std::int64_t deleted{};
};

struct watch_event {
  bool deleted{};
  key_value kv{};
};
struct watch_reply {
  header head{};
  std::int64_t watch_id{};
  bool created{};
  bool canceled{};
  std::int64_t compacted{};  ///< The oldest revision that is there, when a watch began before it.
  std::string_view reason{};
  std::vector<watch_event> events{};
};

struct status_reply {
  header head{};
  std::string_view version{};
  std::int64_t database_bytes{};
  std::int64_t database_bytes_used{};
  std::uint64_t leader{};
  std::vector<std::string_view> errors{};
  bool learner{};  ///< It has no vote yet.
};

// Nothing when the message cannot be read: it is cut off, or nested deeper than any answer to a
// request of ours.
std::optional<txn_reply> decode_txn(std::string_view message);
std::optional<watch_reply> decode_watch(std::string_view message);
std::optional<status_reply> decode_status(std::string_view message);
/// The token of an Authenticate reply; a view into the message.
std::optional<std::string_view> decode_authenticate(std::string_view message);
/// The header alone, which every reply begins with.
std::optional<header> decode_header_of(std::string_view message);

}  // namespace holdfast::wire::etcd
