#pragma once

#include "cli/command_line.hpp"
#include "cli/or_exit.hpp"
#include "cli/report.hpp"

#include <holdfast/session_id.hpp>
#include <holdfast/snapshot.hpp>
#include <holdfast/store.hpp>

#include <nlohmann/json.hpp>

#include <functional>
#include <string>

namespace holdfast::cli {

/// What became of one session, for people and for programs.
struct ended_session {
  std::string text;  ///< One sentence without its end.
  nlohmann::ordered_json json;
};

/// Ends one session of `from`, of which `seen` was seen before, or says why it cannot.
using end_session =
    std::function<or_exit<ended_session>(store& from, const session_id& id, const snapshot& seen)>;

/// What break and deny do: `end` for each session that `which` means. What was done is printed, for
/// programs as the array `key`, also when another session was refused; then the exit code is that
/// of the last one that was.
int end_sessions(const target& which, const common_options& common, const char* key,
                 const end_session& end, const report& out);

}  // namespace holdfast::cli
