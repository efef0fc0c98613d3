#pragma once

#include "cli/descriptor.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/session_id.hpp>

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace holdfast::cli {

/// What the wrapper promises the guardian, in one page of shared memory.
///
/// Two processes and any number of readers (`holdfast check`) map it. The wrapper alone writes the
/// deadlines, and only raises them: a page that nobody updates any more therefore ends the command
/// in time, whatever became of the wrapper. Times are nanoseconds of CLOCK_BOOTTIME; zero means not
/// set yet. Nothing here crosses a reboot.
struct lease_page {
  static constexpr std::uint64_t magic_value = 0x3145'5341'454c'4648;  // "HFLEASE1"

  enum class stage : std::uint32_t { waiting, held, lost, over };

  std::uint64_t magic;
  char session[33];  ///< 32 hexadecimal digits and a NUL.
  /// The guardian may have started the command. It stands where nothing stood, so that a `check` of
  /// another version finds the rest.
  std::atomic<bool> begun;
  std::atomic<std::int64_t> term_at;
  std::atomic<std::int64_t> kill_at;
  std::atomic<stage> now;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// A mapping of a lease page: the wrapper's and guardian's own, or a reader's.
class lease_memory {
 public:
  /// A new page in an anonymous file that later openers can only read. Writable here and, after a
  /// fork, in the child. Errors: `unavailable`.
  static result<lease_memory> create();
  /// Where other processes find this page while `holder` has it: text for the environment. It names
  /// the pid namespace, which decides what /proc shows, and the time namespace, which decides what
  /// the clock says.
  std::string address(pid_t holder) const;
  /// The page at an address(), for reading. Errors: `lost` when there is none (the guardian is
  /// gone) or something else is there, `unavailable` when it cannot be judged from here.
  static result<lease_memory> look(const std::string& address, const session_id& expected);

  lease_memory(lease_memory&&) noexcept;
  lease_memory& operator=(lease_memory&&) noexcept = delete;
  ~lease_memory();

  lease_page& page() noexcept { return *page_; }
  const lease_page& page() const noexcept { return *page_; }
  int fd() const noexcept { return fd_.get(); }

 private:
  lease_memory(descriptor fd, lease_page* page) noexcept : fd_(std::move(fd)), page_(page) {}
  static result<lease_memory> look_at(const std::string& path, const session_id& expected);

  descriptor fd_;
  lease_page* page_;
};

/// When the command is asked to stop, and when it is stopped, for a lease that ends at
/// `valid_until`.
struct deadlines {
  time_point term_at;
  time_point kill_at;

  friend bool operator==(const deadlines&, const deadlines&) = default;
};

/// How long before the end of the lease SIGKILL is sent. Killing and reaping a tree takes a walk
/// through it (about 50 us a process of the command; where the kernel does not list children, of
/// the machine) and a wake-up of a loaded machine: 50 ms, or ttl/50 if longer, but never more than
/// a tenth of the ttl, so that the shortest ttl (100 ms) leaves time to work.
duration kill_distance(duration ttl) noexcept;

/// The longest grace that fits: SIGTERM must not come while a heartbeat is merely in time. Beats
/// are sent every ttl/3, so two thirds of the ttl are always left then; grace may use half of it.
duration grace_limit(duration ttl) noexcept;

/// Grace when none is given: 5 s, or a quarter of the ttl if that is shorter.
duration grace_default(duration ttl) noexcept;

/// How long before the end of the lease SIGTERM is sent.
duration stop_distance(duration ttl, duration grace) noexcept;

deadlines deadlines_of(time_point valid_until, duration ttl, duration grace) noexcept;

}  // namespace holdfast::cli
