#pragma once

#include <memory>

namespace holdfast::client {

/// Never gives this reference up: the child of a fork must not touch what it inherited, and an
/// object with static storage may outlive the threads that would answer it. It stays reachable, for
/// leak checkers would count it otherwise.
///
/// Thread safety: from any thread, also in the child of a fork.
void leave_alone(std::shared_ptr<const void> what) noexcept;

}  // namespace holdfast::client
