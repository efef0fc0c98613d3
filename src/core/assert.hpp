#pragma once

namespace holdfast::core {

/// Ends the program with a sentence: a programmer's error, in this library or in its user.
[[noreturn]] void fail(const char* what) noexcept;

}  // namespace holdfast::core

#define HOLDFAST_ASSERT_TEXT(x) #x
#define HOLDFAST_ASSERT_LINE(x) HOLDFAST_ASSERT_TEXT(x)

/// Stays on in release builds: a lock manager that goes on with a broken invariant is worse than
/// one that stops, because whoever holds a lock then learns it from the end of its lease.
#define HOLDFAST_ASSERT(condition)                                    \
  ((condition) ? static_cast<void>(0)                                 \
               : ::holdfast::core::fail(                              \
                     __FILE__ ":" HOLDFAST_ASSERT_LINE(__LINE__) ": " \
                                                                 "broken invariant: " #condition))
