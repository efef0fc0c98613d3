#pragma once

/// \file
/// What every public header needs: the language version, and the symbols that the shared library
/// exports. All others are hidden.
///
/// The build target of the static library defines HOLDFAST_STATIC for its users; nobody has to
/// define it by hand.

// Before the standard library's headers: with C++17 some are empty, and errors would name those.
#if __cplusplus < 202002L
#error "holdfast needs C++20 (-std=c++20)"
#endif

#if defined(HOLDFAST_STATIC)
#define HOLDFAST_EXPORT
#else
#define HOLDFAST_EXPORT [[gnu::visibility("default")]]
#endif
