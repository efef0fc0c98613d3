#pragma once

#include "core/assert.hpp"
#include "core/redlock/node_record.hpp"
#include "core/redlock/node_vote.hpp"
#include "core/redlock/rejoin.hpp"
#include "core/redlock/renewal.hpp"
#include "engines/redlock/scripts.hpp"
#include "wire/reply.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/session_id.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::engines::redlock {

using core::redlock::fault;
using core::redlock::server_time;

/// What a node's answer says, or why it says nothing: an error that it answered with, or `garbled`.
/// A fault converts, so that what never came is said in the same way:
///
///     const reading<released> r = a.reply ? replies::release(*a.reply) : fault::silent;
template <class T>
class [[nodiscard]] reading {
 public:
  reading(T value) : value_(std::move(value)) {}  // NOLINT: converts on purpose
  reading(fault f) noexcept : why_(f) { HOLDFAST_ASSERT(f != fault::none); }  // NOLINT: the same

  explicit operator bool() const noexcept { return value_.has_value(); }
  const T& operator*() const noexcept { return *value_; }
  const T* operator->() const noexcept { return &*value_; }
  /// none when there is a value.
  fault why() const noexcept { return why_; }

 private:
  std::optional<T> value_{};
  fault why_{fault::none};
};

/// A vote, and the server's TIME where it gave it.
struct timed_vote {
  core::redlock::node_vote vote{};
  std::optional<server_time> time{};
};

struct released {
  bool deleted{};      ///< It was there with our value, and is gone. False: it was not.
  bool counted{true};  ///< Those that wait there. False: nothing is known of them.
  bool others{};       ///< Other clients wait for it, and hear of releases at this node.
};

/// A message about a release.
struct news {
  std::string_view channel{};
  std::string_view name{};
  bool calls{};  ///< This client alone: it is its turn. False: all that wait were notified.
};

struct renewed {
  core::redlock::renewal::answer answer{};
  std::optional<server_time> time{};
};

struct denial {
  bool already{};     ///< It was denied before.
  bool had_record{};  ///< False: the session had no record there.
  duration ttl{};     ///< The session's; zero when it is not known.
};

/// A session's record on one node; empty when there is none.
struct session_fields {
  std::vector<std::pair<std::string, std::string>> all{};
  /// The value of a field, or nothing.
  std::string_view operator[](std::string_view name) const noexcept;
};

/// One page of `list`.
struct page {
  struct session {
    std::string id{};
    duration left{};  ///< Until its record ends there.
    session_fields fields{};
  };
  struct lock {
    std::string name{};
    std::string value{};
    duration left{};
    std::uint64_t counter{};  ///< Zero: not known.
  };
  std::string next{};  ///< The cursor of the next page; "0" after the last one.
  std::vector<session> sessions{};
  std::vector<lock> locks{};
  std::string withheld{};  ///< A key that this user may not touch and that may be a lock, if any.
};

/// What a look at a node finds.
struct node_reading {
  server_time time{};
  std::optional<core::redlock::node_record> record{};
};

/// Where the documentation says which rights a user needs.
inline constexpr const char* page_about_rights = "docs/redlock.md, \"Access\"";

/// Reads the answers to what commands.hpp sends. Pure.
///
/// Whatever a server sends, and be it hostile, gets an answer: what has no form that scripts.hpp
/// names is `fault::garbled`, and so is a counter outside of 1 to 2^53 - 1.
namespace replies {

/// An error's text for people, with what to allow where a right is missing.
std::string error_text(const wire::reply& r);
/// Whether that says more than the fault: which command, and on which key, only the server knows.
bool text_says_more(fault f) noexcept;

/// `hint`: what was sent with it. A token that is not above it is garbled, where the node's TIME
/// makes the script heed it.
timed_vote acquire(const wire::reply& r, std::uint64_t hint);
core::redlock::node_vote set_plain(const wire::reply& r);
core::redlock::node_vote raise(const wire::reply& r);
/// granted: it is there again.
timed_vote repair(const wire::reply& r);
reading<released> release(const wire::reply& r);

/// `locks`: how many were sent. A missing or denied session is an answer, not a fault.
reading<renewed> renew(const wire::reply& r, std::size_t locks);
reading<renewed> renew_plain(const wire::reply& r, std::size_t locks);

/// none when the record was written.
fault open(const wire::reply& r);
/// Whether it was there, and not denied.
reading<bool> close(const wire::reply& r);
reading<denial> deny(const wire::reply& r);
reading<session_fields> session(const wire::reply& r);
reading<page> list(const wire::reply& r);

/// A record without its id, nonce, epoch, max_ttl or config_hash is garbled: nothing can be made of
/// it. One that lacks another field has lost its state: it is given with no run_id, and therefore
/// is of no process that answers.
reading<node_reading> look(const wire::reply& r);
/// For people: what is wrong with a record that cannot be read, and what to do; else nothing.
std::string damage_in_look(const wire::reply& r);
core::redlock::seal_reply seal(const wire::reply& r);
core::redlock::write_reply write(const wire::reply& r);

/// none when the server has the script, under the name that we call it by.
fault load(const wire::reply& r, const script& s);
reading<server_time> time(const wire::reply& r);
/// none when it was done.
fault subscribe(const wire::reply& r);

/// What a message of a lock's channels says; nothing for every other push. Valid as long as the
/// push.
std::optional<news> freed(const wire::reply& push) noexcept;
/// Whether the key is there; nothing when that was not answered.
std::optional<bool> peek(const wire::reply& r);
/// By the size of the key's value a session may be named in it.
bool may_name_holder(const wire::reply& r);
/// The session in the key's value, if the key is there and has one.
std::optional<session_id> holder(const wire::reply& r);

/// The script was not run: somebody flushed the scripts.
bool is_missing_script(const wire::reply& r) noexcept;
/// For people, of an error that says `denied`: "an operator (WHO) denied it: WHY".
std::string denial_text(const wire::reply& r);

}  // namespace replies

}  // namespace holdfast::engines::redlock
