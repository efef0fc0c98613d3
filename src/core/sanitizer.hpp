// Which sanitizer a build has: gcc and clang say it in different ways. For code that must leave
// something to it, or cannot afford what it makes slow.
#pragma once

#if defined(__has_feature)
#define HOLDFAST_HAS_FEATURE(name) __has_feature(name)
#else
#define HOLDFAST_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HOLDFAST_HAS_FEATURE(address_sanitizer)
#define HOLDFAST_UNDER_ASAN 1
#else
#define HOLDFAST_UNDER_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || HOLDFAST_HAS_FEATURE(thread_sanitizer)
#define HOLDFAST_UNDER_TSAN 1
#else
#define HOLDFAST_UNDER_TSAN 0
#endif

#undef HOLDFAST_HAS_FEATURE
