#pragma once

/// \file
/// Which symbols the shared library shows. Everything else is hidden.
///
/// HOLDFAST_STATIC is defined for users of the static library by its build target; nobody has to
/// define it by hand.

#if defined(HOLDFAST_STATIC)
#define HOLDFAST_EXPORT
#else
#define HOLDFAST_EXPORT [[gnu::visibility("default")]]
#endif
