#pragma once

#include "core/engine.hpp"
#include "engines/etcd/settings.hpp"
#include "io/grpc/grpc_connection.hpp"

#include <string>
#include <string_view>

namespace holdfast::engines::etcd {

// What a gRPC status that is no success says, and to whom.

/// gRPC's numbers.
namespace grpc_status {
inline constexpr unsigned invalid_argument = 3;
inline constexpr unsigned deadline_exceeded = 4;
inline constexpr unsigned permission_denied = 7;
inline constexpr unsigned resource_exhausted = 8;
inline constexpr unsigned failed_precondition = 9;
inline constexpr unsigned out_of_range = 11;
inline constexpr unsigned unimplemented = 12;
inline constexpr unsigned unauthenticated = 16;
}  // namespace grpc_status

/// About a transaction.
core::status judge(unsigned status, std::string_view text) noexcept;
/// What people are told to do about it, behind the text; may be empty.
std::string advice(unsigned status, std::string_view text, const settings& set);

/// The servers have no space left.
bool is_full(std::string_view text) noexcept;
/// The server is a learner, which takes no requests until it is promoted.
bool is_learner(std::string_view text) noexcept;
/// The server is so many commands behind its cluster that it takes no more for now.
bool lags(std::string_view text) noexcept;
/// This server alone refuses, for its lag, its flags or its version, before anything is done.
bool is_refused_by_one(unsigned status, std::string_view text) noexcept;
/// The token of the login is not accepted any more, or not yet.
bool is_logged_out(unsigned status, std::string_view text) noexcept;
/// The server has answered that whoever this URL names may not do this. That lasts until a person
/// has changed the URL, or users and roles.
bool is_shut_out(const io::grpc_outcome& o, const settings& set) noexcept;
/// Trying again helps only after a person has acted: of whoever may not, or without space.
bool needs_operator(const io::grpc_outcome& o, const settings& set) noexcept;

/// What to do about a login that is not answered.
std::string slow_login_advice(const settings& set);
/// Why a login failed, and what to do.
std::string login_trouble(const io::grpc_outcome& o, const settings& set);

}  // namespace holdfast::engines::etcd
