#pragma once

#include <holdfast/history.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace holdfast::history {

/// Every operation and its word in the text form.
inline constexpr std::array<std::pair<operation, const char*>, 12> operation_words{{
    {operation::open, "open"},
    {operation::acquire, "acquire"},
    {operation::check, "check"},
    {operation::write, "write"},
    {operation::read, "read"},
    {operation::raise, "raise"},
    {operation::release, "release"},
    {operation::close, "close"},
    {operation::deny, "deny"},
    {operation::kill, "kill"},
    {operation::stop, "stop"},
    {operation::cont, "cont"},
}};

inline constexpr std::string_view ok = "ok";
inline constexpr std::string_view pending = "pending";

}  // namespace holdfast::history
