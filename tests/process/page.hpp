#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace holdfast::process {

/// What processes of one test tell each other, in a file that all of them map.
struct page {
  /// The token of the newest holder that has written. A holder writes by compare-and-swap of its
  /// own token, so a write after a newer holder's first one is seen and counted.
  std::atomic<std::uint64_t> owner;
  std::atomic<std::uint64_t> writes;
  std::atomic<std::uint64_t> holders;  ///< How many have written for the first time.
  std::atomic<std::uint64_t> violations;
  std::atomic<std::uint64_t> paused_writes;  ///< Late, but the writer was stopped in mid-step.
  std::atomic<std::int64_t> last_write;      ///< CLOCK_BOOTTIME, nanoseconds.
  std::atomic<std::int64_t> first_write;     ///< Of the newest holder.
  std::atomic<std::int32_t> command;         ///< Process id of the newest holder.
  std::atomic<std::int32_t> guardian;        ///< Its parent's.
  std::atomic<std::uint64_t> stop;           ///< Not zero: end.
  std::atomic<std::uint64_t> slots[64];      ///< For the test's own use.
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The page in the file at `path`, zeroed when it is made.
class shared_page {
 public:
  explicit shared_page(const std::string& path);
  shared_page(const shared_page&) = delete;
  shared_page& operator=(const shared_page&) = delete;
  ~shared_page();

  page* operator->() const { return at_; }
  page& operator*() const { return *at_; }

 private:
  page* at_{};
};

/// First write of a holder: from here on an older holder's write is late. `checked` is when the
/// writer last knew that it held. False when a newer holder has written already: counted as a
/// violation, unless more than `patience` nanoseconds have passed since.
bool enter(page& p, std::uint64_t token, std::int64_t checked, std::int64_t patience);
/// One more write, in the same way.
bool write(page& p, std::uint64_t token, std::int64_t checked, std::int64_t patience);

/// For a writer that is stopped by others when it no longer holds: nothing excuses a late write.
inline constexpr std::int64_t no_excuse = INT64_MAX;

}  // namespace holdfast::process
