#pragma once

namespace holdfast::cli {

/// From now on the program ends with a sentence, in JSON if `json`, when memory runs out on any
/// thread, also on one of the library, where nobody can catch it. What it was doing stops there, as
/// if it had been killed: the guardian ends the command.
void end_when_memory_is_short(bool json);

/// Memory has run out. The exit code is `unavailable`.
[[noreturn]] void end_short_of_memory() noexcept;

}  // namespace holdfast::cli
