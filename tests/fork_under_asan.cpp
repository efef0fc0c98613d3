// Part of each test under ASan: a child of fork(2) may allocate. The runtimes of Debian's clang 14
// and 16 copy their locks as they are, and where another thread had the allocator's at that moment
// the child waits for it for ever. What later runtimes do by themselves is done here with the same
// functions; but not all of it:
//
// The table of stacks has a million locks. To take them all and give them back costs each child the
// copies of thousands of pages, 50 ms of processor time. They are held for a few instructions each,
// and a child waits only if it needs the very one that was.
#include <pthread.h>

namespace holdfast::tests {

extern "C" {
// Weak: a runtime that is a shared library, as gcc's, hides them, and has no remedy.
[[gnu::weak]] void lock_threads() __asm__("_ZN6__lsan18LockThreadRegistryEv");
[[gnu::weak]] void unlock_threads() __asm__("_ZN6__lsan20UnlockThreadRegistryEv");
[[gnu::weak]] void lock_allocator() __asm__("_ZN6__lsan13LockAllocatorEv");
[[gnu::weak]] void unlock_allocator() __asm__("_ZN6__lsan15UnlockAllocatorEv");
}

namespace {

void before() {
  lock_threads();
  lock_allocator();
}

void after() {
  unlock_allocator();
  unlock_threads();
}

/// Before all others, so that none of their handlers runs under these locks.
[[gnu::constructor(101)]] void install() {
  const bool all = lock_threads != nullptr && unlock_threads != nullptr &&
                   lock_allocator != nullptr && unlock_allocator != nullptr;
  if (all) ::pthread_atfork(before, after, after);
}

}  // namespace
}  // namespace holdfast::tests
