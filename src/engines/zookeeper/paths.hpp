#pragma once

#include "core/records.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::engines::zookeeper {

/// Where everything is, below one root node:
///
/// | node                               | what it is                                             |
/// |------------------------------------|--------------------------------------------------------|
/// | `s`                                | its data is the store's format                         |
/// | `s/SESSION`                        | the record; created is the inc, version the beat       |
/// | `s/SESSION/allowed`                | there until the session is denied                      |
/// | `s/SESSION/gate`                   | version + 1 is the gate; there until the session ends  |
/// | `q/NAME`                           | a container; its version counts the entries ever made  |
/// | `q/NAME/x.SESSION.INC.REQUEST.N.#` | an exclusive entry; `s.` a shared one, `p3.` permits(3)|
///
/// # is ZooKeeper's number, which orders the entries of one name; created is the order and token.
/// N is random: a path is never made twice. NAME has everything but printable ASCII, `/`, `%` and a
/// dot at its beginning as %XX.
class paths {
 public:
  explicit paths(std::string root) : root_(std::move(root)) {}

  const std::string& root() const noexcept { return root_; }
  std::string sessions() const { return root_ + "/s"; }
  std::string queues() const { return root_ + "/q"; }
  std::string session(const session_id& id) const { return sessions() + "/" + id.str(); }
  std::string allowed(const session_id& id) const { return session(id) + "/allowed"; }
  std::string gate(const session_id& id) const { return session(id) + "/gate"; }
  /// The record's node of the session whose gate it is; empty: it is no gate.
  static std::string session_of_gate(const std::string& path);
  std::string queue(const lock_name& name) const;
  /// What ZooKeeper's number is appended to.
  std::string entry(const lock_name& name, const core::entry& e, std::uint32_t nonce) const;

 private:
  std::string root_;
};

/// What an entry's node is called says all of it but its order and its time.
struct named_entry {
  std::string node{};  ///< The last part of the path.
  core::entry what{};
  std::int32_t place{};  ///< ZooKeeper's number, which wraps.

  static std::optional<named_entry> parse(std::string_view node);
  /// How much later it came. Right up to 2^31 - 1 arrivals, in either direction.
  std::int32_t arrivals_after(const named_entry& other) const noexcept;
};

/// The lock of a child of `q`.
std::optional<lock_name> parse_queue(std::string_view node);

}  // namespace holdfast::engines::zookeeper
