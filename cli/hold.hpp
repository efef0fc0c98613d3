#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

/// What a command runs under: a lock, or the leadership of an election, which is an exclusive lock
/// whose holder publishes a value.
enum class held_as { lock, leadership };

/// `run` and `elect`: reads the words after the verb and does what they say.
int hold_and_run(const std::vector<std::string>& after_verb, held_as what);

}  // namespace holdfast::cli
