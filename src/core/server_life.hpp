#pragma once

#include <string>
#include <string_view>

namespace holdfast::core {

/// Names the data that a server process has: its run_id, and for one that was a replica and was
/// promoted what it is master as (its replication id), for then it has another server's data.
/// `promoted_as`: empty for one that never was.
std::string server_life(std::string_view run_id, std::string_view promoted_as);

/// The process alone.
std::string_view process_of(std::string_view life) noexcept;

/// Whether the server that is `seen` still has what the `recorded` one had. Before Redis 7 a server
/// forgets in time that it was promoted (an hour after its last replica left): that alone counts as
/// no loss, and a promotion within such an hour that nobody looked in is not seen.
bool is_same_life(std::string_view recorded, std::string_view seen) noexcept;

}  // namespace holdfast::core
