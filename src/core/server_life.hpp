#pragma once

#include <string>
#include <string_view>

namespace holdfast::core {

/// Names the data that a server process has: its run_id, and for one that was a replica and was
/// promoted what it became master as (its replication id), for then it has another server's data.
/// `promoted_as`: empty for one that never was.
std::string server_life(std::string_view run_id, std::string_view promoted_as);

/// The process alone.
std::string_view process_of(std::string_view life) noexcept;

/// Whether the server that is `seen` still has what the `recorded` one had. A server forgets in
/// time that it was promoted (an hour after its last replica left), and has lost nothing by that.
bool is_same_life(std::string_view recorded, std::string_view seen) noexcept;

}  // namespace holdfast::core
