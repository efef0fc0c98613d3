#pragma once

#include "core/engine.hpp"
#include "engines/redis/admission.hpp"
#include "engines/redis/scripts.hpp"

#include <cstdint>
#include <string>
#include <string_view>

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
std::string list(std::string_view nonce, std::uint64_t entries_max, std::uint64_t bytes_max);
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
