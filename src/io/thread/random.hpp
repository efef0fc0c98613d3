#pragma once

#include <holdfast/session_id.hpp>

#include <cstdint>

namespace holdfast::io {

/// 64 bits from the kernel (getrandom, a kilobyte at a time for each thread). Blocks only before
/// the kernel's generator is ready, which is early in boot.
std::uint64_t random_bits() noexcept;

/// 128 bits from the kernel: an identity that is never used again.
session_id random_session_id() noexcept;

}  // namespace holdfast::io
