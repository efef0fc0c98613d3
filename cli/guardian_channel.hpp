#pragma once

#include "cli/descriptor.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

/// One message between wrapper and guardian.
struct message {
  enum class kind : std::uint32_t {
    // From the wrapper.
    start,    ///< Run the command; `flag`: in the terminal's foreground; `texts`: environment.
    forward,  ///< Send signal `number` to the command's process group.
    proceed,  ///< Continue the command; `flag`: hand it the terminal first.
    end_now,  ///< The lease is lost: SIGTERM at once, SIGKILL no later than the page says.
    // From the guardian.
    started,       ///< `number`: process id of the command.
    start_failed,  ///< `number`: errno of the fork or the exec; ETIME: the lease had passed.
    stopped,       ///< The command was stopped by signal `number`.
    ended,         ///< Nothing is left. `number`: wait status; `flag`: the lease made it end.
  };

  kind what{};
  std::int32_t number{};
  bool flag{};
  std::vector<std::string> texts{};
  descriptor passed{};  ///< A file descriptor that came with it.
};

/// Sends one message, with a copy of descriptor `pass` unless it is -1. Never blocks and never
/// raises SIGPIPE; false when the other side is gone or does not read.
bool send_message(int socket, const message& m, int pass = -1);

/// What a look at the socket found.
struct received {
  bool closed{};  ///< The other side is gone; no message will ever come.
  std::optional<message> got{};
};

/// Takes the next message if there is one; never blocks.
received receive_message(int socket);

}  // namespace holdfast::cli
