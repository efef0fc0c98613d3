#pragma once

#include "core/records.hpp"
#include "wire/etcd_requests.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::engines::etcd {

/// Where everything is, below a prefix of the store's own ("holdfast/"):
///
/// | key                                            | value                                    |
/// |------------------------------------------------|------------------------------------------|
/// | `epoch`                                        | the cluster epoch                        |
/// | `s/SESSION`                                    | the session record; written once         |
/// | `s/SESSION/beat`                               | nothing: its revision is the beat        |
/// | `s/SESSION/deny`                               | who denied it, and why                   |
/// | `s/SESSION/gate`                               | nothing: its version is the gate         |
/// | `q/NAME/x/SESSION.INC.REQUEST`                 | an exclusive entry                       |
/// | `q/NAME/s/...`, `q/NAME/p00003/...`            | a shared one, and one of permits(3)      |
///
/// The mode is in the key, so that one comparison of a range tells whether anybody is there whom an
/// arrival does not agree with. NAME has everything but printable ASCII, and `/` and `%`, as %XX.
class key_space {
 public:
  /// `prefix` ends with a slash, or is empty.
  explicit key_space(std::string prefix) : prefix_(std::move(prefix)) {}

  std::string epoch() const { return prefix_ + "epoch"; }

  wire::etcd::span sessions() const;
  std::string session(const session_id& id) const;
  std::string beat(const session_id& id) const { return session(id) + "/beat"; }
  std::string deny(const session_id& id) const { return session(id) + "/deny"; }
  std::string gate(const session_id& id) const { return session(id) + "/gate"; }
  /// These two and nothing else.
  wire::etcd::span deny_and_gate(const session_id& id) const;
  /// The record and all that belongs to it.
  wire::etcd::span all_of(const session_id& id) const;

  wire::etcd::span queues() const;
  wire::etcd::span queue(const lock_name& name) const;
  wire::etcd::span entries(const lock_name& name, const mode& how) const;
  /// The parts of the queue where entries are that `how` does not agree with.
  std::vector<wire::etcd::span> disagreeing(const lock_name& name, const mode& how) const;
  std::string entry(const lock_name& name, const mode& how, const session_id& id, std::uint64_t inc,
                    std::uint64_t request) const;

  /// What a key below sessions() is about.
  struct session_part {
    session_id id{};
    enum class kind : std::uint8_t { record, beat, deny, gate } what{};
  };
  std::optional<session_part> parse_session(std::string_view key) const;
  /// What an entry's key says: all but order and time.
  struct entry_part {
    lock_name name{""};
    core::entry what{};
  };
  std::optional<entry_part> parse_entry(std::string_view key) const;

 private:
  std::string prefix_;
};

}  // namespace holdfast::engines::etcd
