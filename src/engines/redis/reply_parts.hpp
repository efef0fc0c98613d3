#pragma once

#include "core/records.hpp"
#include "wire/reply.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/mode.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/token.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// Parts of the replies of scripts.hpp, each read strictly: nothing when it has another form.
namespace holdfast::engines::redis::replies::parts {

std::optional<std::uint64_t> number_of(const wire::reply& r) noexcept;
/// From 1 to 2^53 - 1.
std::optional<token> order_of(std::string_view text) noexcept;
/// Nanoseconds, from zero to the longest ttl there is.
std::optional<duration> length_of(std::string_view text) noexcept;
/// The same, of a session: one that it may have. With less, the next waiter would take a living
/// holder over at once.
std::optional<duration> ttl_of(std::string_view text) noexcept;
/// An integer 0 or 1; the text of one.
std::optional<bool> flag_in(const wire::reply& r) noexcept;
std::optional<bool> flag_of(const wire::reply& r) noexcept;
bool is_array(const wire::reply& r, std::size_t size) noexcept;
std::optional<mode> mode_of(std::string_view text) noexcept;
/// `ORDER:ID:INC:REQUEST:MODE:SINCE:CLIENT`
std::optional<core::entry> entry_of(const wire::reply& r);
/// All fields of a session's hash, in the flat array that HGETALL gives.
std::optional<core::session_record> record_of(const session_id& id, const wire::reply& all);

}  // namespace holdfast::engines::redis::replies::parts
