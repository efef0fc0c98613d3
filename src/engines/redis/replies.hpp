#pragma once

#include "core/engine.hpp"
#include "engines/redis/admission.hpp"
#include "wire/reply.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::engines::redis::replies {

/// \file
/// Reads the answers to what commands.hpp sends. Pure.
///
/// Whatever a server sends, and be it hostile, gets an answer: what has no form that scripts.hpp
/// names is `unknown`, for the script may have been run.

/// An answer of the engine, and whether entries of ended sessions are left to sweep.
template <class R>
struct read {
  R reply{};
  bool left{};
};

/// An error's text for people, with what to allow where a right is missing.
std::string error_text(const wire::reply& r);
/// What an error, or a reply of no known form, means for the operation.
core::reply refusal_of(const wire::reply& r);

read<core::open_reply> open(const wire::reply& r);
read<core::beat_reply> beat(const wire::reply& r, std::uint64_t attempt);
read<core::reply> close(const wire::reply& r);
/// Of enqueue and confirm.
read<core::queue_view> view(const wire::reply& r);
read<core::leave_reply> leave(const wire::reply& r);
read<core::take_reply> take(const wire::reply& r);
read<core::deny_reply> deny(const wire::reply& r);
read<core::glance_reply> glance(const wire::reply& r);

/// A part of a listing: these sessions, and all their entries, as they were in one moment.
struct list_page {
  struct named_entry {
    lock_name name{""};
    core::entry what{};
  };
  std::vector<core::session_record> sessions{};
  std::vector<named_entry> entries{};
  std::string cursor{};            ///< Where the next page begins; "0": that was the last one.
  std::vector<session_id> rest{};  ///< Sessions of this page that are still to be asked for.
};
std::optional<list_page> list(const wire::reply& r);
/// Why it is none.
core::reply refusal_of_list(const wire::reply& r);
/// Whether more is left; nothing when it failed.
std::optional<bool> sweep_more(const wire::reply& r);

std::optional<store_record> look(const wire::reply& r);
/// How many replicas are attached; nothing when it is no master or was not answered.
std::optional<std::size_t> replicas(const wire::reply& role);

/// A message of a wake channel.
struct wake_up {
  token order{};
  /// The keys' prefix of the life in which the lock was given to the entry; empty: its owner
  /// should look.
  std::string_view life{};
};
/// Nothing for every other push.
std::optional<wake_up> woken(const wire::reply& push) noexcept;

/// The error says that this life of the data is another one than the client knows.
bool is_not_admitted(const wire::reply& r) noexcept;
bool is_missing_script(const wire::reply& r) noexcept;

}  // namespace holdfast::engines::redis::replies
