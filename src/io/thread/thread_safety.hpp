#pragma once

/// What a mutex guards, as clang checks it at compile time: in the build of the preset tsan it is
/// an error to use what is guarded without its mutex. Other compilers see nothing.
///
/// | behind     | word            | says                                                     |
/// |------------|-----------------|----------------------------------------------------------|
/// | a member   | `GUARDED_BY(m)` | it is read and written under `m` only                    |
/// | a function | `REQUIRES(m)`   | its caller holds `m`, and still does afterwards          |
/// | a function | `EXCLUDES(m)`   | its caller does not hold `m`: it calls out, or takes it  |
///
/// The others are for mutex.hpp and turn_mutex.hpp. What clang does not see: who holds what around
/// a lambda (mutex::held_by_caller() says so), what constructors and destructors do, and who uses
/// later what was taken by reference.
///
/// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#ifdef __clang__
#define HOLDFAST_THREAD_SAFETY(x) __attribute__((x))
#else
#define HOLDFAST_THREAD_SAFETY(x)
#endif

#define HOLDFAST_GUARDED_BY(m) HOLDFAST_THREAD_SAFETY(guarded_by(m))
#define HOLDFAST_REQUIRES(...) HOLDFAST_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define HOLDFAST_EXCLUDES(...) HOLDFAST_THREAD_SAFETY(locks_excluded(__VA_ARGS__))

#define HOLDFAST_MUTEX HOLDFAST_THREAD_SAFETY(capability("mutex"))
#define HOLDFAST_SCOPED_MUTEX HOLDFAST_THREAD_SAFETY(scoped_lockable)
#define HOLDFAST_ACQUIRE(...) HOLDFAST_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define HOLDFAST_RELEASE(...) HOLDFAST_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define HOLDFAST_ASSERTED() HOLDFAST_THREAD_SAFETY(assert_capability())
