#pragma once

#include "core/redlock/node_vote.hpp"
#include "wire/reply.hpp"

#include <string_view>

namespace holdfast::engines::redlock {

/// The fault that the line of an error names, by its first word: one of our own scripts', or one of
/// Redis; never none, and `refused` for what nobody knows.
core::redlock::fault fault_of(std::string_view line) noexcept;

/// Why a reply that has no expected form has none: it is an error, or `garbled`.
core::redlock::fault fault_in(const wire::reply& r) noexcept;

}  // namespace holdfast::engines::redlock
