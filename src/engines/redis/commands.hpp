#pragma once

#include "core/engine.hpp"
#include "engines/redis/admission.hpp"
#include "engines/redis/scripts.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::engines::redis::commands {

/// \file
/// What this engine sends: each function gives one command with one answer, which replies.hpp
/// reads. See scripts.hpp for what the scripts do. `nonce` is the life of the data that is known.

std::string open(std::string_view nonce, const core::session_record& draft);
std::string beat(std::string_view nonce, const session_id& id, std::uint64_t inc);
std::string close(std::string_view nonce, const session_id& id, std::uint64_t inc);
/// `client`: the id in the channel on which the entry's owner is woken.
std::string enqueue(std::string_view nonce, const core::enqueue_request& r,
                    std::string_view client);
std::string confirm(std::string_view nonce, const core::confirm_request& r);
std::string leave(std::string_view nonce, const core::leave_request& r);
std::string take(std::string_view nonce, const core::take_request& r);
std::string deny(std::string_view nonce, const core::deny_request& r);
std::string sweep_more(std::string_view nonce);
/// How much of a listing one script gives: a page, and beyond which it is refused.
struct list_bounds {
  std::size_t sessions_max{};
  std::size_t entries_max{};
  std::uint64_t entries_limit{};
  std::uint64_t bytes_limit{};
};
/// `cursor`: empty for the first page. The page of these sessions where any are named.
std::string list(std::string_view nonce, const list_bounds& b, std::string_view cursor,
                 const std::vector<session_id>& whom);
std::string glance(std::string_view nonce, const core::glance_request& r);
std::string look();
std::string write(const admission::write& w);
std::string clean(std::string_view nonce);

/// SCRIPT LOAD.
std::string load(const script& s);
/// The settings that io::keeps_every_write() reads.
std::string persistence();
/// INFO, whole: a server before 7.0 gives one section or all.
std::string info();
std::string role();
/// WAIT: how many replicas have what this connection wrote.
std::string await_replicas(std::uint32_t count, duration limit);
/// On RESP3 the answer is a push.
std::string subscribe(std::string_view client);

}  // namespace holdfast::engines::redis::commands
