#pragma once

/// \file
/// What every public header needs: the language, and which symbols the shared library shows.
/// Everything else is hidden.
///
/// HOLDFAST_STATIC is defined for users of the static library by its build target; nobody has to
/// define it by hand.

// Before the standard library's headers, whose empty C++17 halves would be blamed instead.
#if __cplusplus < 202002L
#error "holdfast needs C++20 (-std=c++20)"
#endif

#if defined(HOLDFAST_STATIC)
#define HOLDFAST_EXPORT
#else
#define HOLDFAST_EXPORT [[gnu::visibility("default")]]
#endif
