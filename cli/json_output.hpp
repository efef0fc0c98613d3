#pragma once

#include <holdfast/snapshot.hpp>
#include <holdfast/store.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace holdfast::cli {

/// The JSON contract, version 1; see docs/cli.md. Fields are only ever added within a version.
inline constexpr int json_version = 1;

/// An object with the contract's version and the store's URL.
nlohmann::ordered_json json_head(const std::string& store);
nlohmann::ordered_json json_of(const owner_info& owner);
nlohmann::ordered_json json_of(const session_info& s);
nlohmann::ordered_json json_of(const entry_info& e, const snapshot& all);
nlohmann::ordered_json json_of(const lock_info& l, const snapshot& all);

/// A name's own bytes in hexadecimal: JSON cannot carry every name.
std::string name_hex(const std::string& name);

/// One line of text with its newline; bytes that are not UTF-8 become U+FFFD.
std::string json_line(const nlohmann::ordered_json& value);

}  // namespace holdfast::cli
