#include "io/process/process_identity.hpp"

#include "core/cut.hpp"
#include "core/fnv1a.hpp"
#include "core/whole_number.hpp"
#include "io/process/per_process.hpp"
#include "io/thread/mutex.hpp"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <optional>
#include <string_view>

namespace holdfast::io {

namespace {

// Of /proc/self mostly nothing is left after the end of main()'s thread, to which it leads; so the
// calling thread is asked.

std::string own_program() {
  std::array<char, PATH_MAX> path{};
  const auto size = ::readlink("/proc/thread-self/exe", path.data(), path.size());
  if (size <= 0) return {};
  const std::string text(path.data(), static_cast<std::size_t>(size));
  return text.substr(text.rfind('/') + 1);
}

std::string own_host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

// Field 22 of proc(5)'s /proc/PID/stat, in clock ticks since boot; the second field is a name in
// parentheses that may hold anything. Each thread has a start of its own; that of the first one is
// told also after its end.
std::optional<std::int64_t> own_start_ticks() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  std::string_view rest(line);
  rest.remove_prefix(std::min(line.rfind(") ") + 2, line.size()));
  for (int field = 3; field < 22; ++field) core::cut(rest, ' ');
  return core::whole_number<std::int64_t>(core::cut(rest, ' '));
}

wall_time own_start() {
  const auto ticks = own_start_ticks();
  if (!ticks) return wall_now();
  const auto since_boot = std::chrono::microseconds{*ticks * 1'000'000 / ::sysconf(_SC_CLK_TCK)};
  timespec boot{};
  ::clock_gettime(CLOCK_BOOTTIME, &boot);
  const auto up =
      std::chrono::seconds{boot.tv_sec} + std::chrono::microseconds{boot.tv_nsec / 1000};
  return wall_now() - (up - since_boot);
}

struct cache {
  io::mutex mutex;
  std::optional<owner_info> own HOLDFAST_GUARDED_BY(mutex);
};

constinit per_process<cache> caches;

const owner_info& identity_in(cache& kept) HOLDFAST_REQUIRES(kept.mutex) {
  // Without a boot id /proc could not be read, and perhaps only now: no descriptor was free.
  if (!kept.own || kept.own->boot_id.empty()) {
    kept.own = owner_info{.host = own_host(),
                          .boot_id = boot_id(),
                          .pid = ::getpid(),
                          .program = own_program(),
                          .instance = {},
                          .label = {},
                          .started = own_start()};
  }
  return *kept.own;
}

// getauxval(3): 16 bytes that the kernel chose when it started this program.
std::string bytes_of_program() {
  const auto at = ::getauxval(AT_RANDOM);
  return at == 0 ? std::string() : std::string(reinterpret_cast<const char*>(at), 16);
}

// time_namespaces(7): "boottime", and the seconds and nanoseconds by which the clock is ahead. The
// file is not below thread-self, but that of a thread is found by its number, as /proc counts.
std::string boot_offset() {
  std::array<char, PATH_MAX> path{};
  const auto size = ::readlink("/proc/thread-self", path.data(), path.size());
  if (size <= 0) return {};
  const std::string link(path.data(), static_cast<std::size_t>(size));
  std::ifstream file("/proc/" + link.substr(link.rfind('/') + 1) + "/timens_offsets");
  std::string clock;
  std::string seconds;
  std::string rest;
  while (file >> clock >> seconds >> rest) {
    if (clock == "boottime") return seconds + ' ' + rest;
  }
  return {};
}

}  // namespace

owner_info process_identity() {
  auto& kept = caches.get();
  const held_mutex hold(kept.mutex);
  return identity_in(kept);
}

std::string_view identity_boot_id() {
  auto& kept = caches.get();
  const held_mutex hold(kept.mutex);
  // One that was read is never replaced.
  const std::string& boot = identity_in(kept).boot_id;
  return boot.empty() ? std::string_view() : boot;
}

std::uint64_t process_number() {
  std::string all = bytes_of_program();
  for (const auto one : {static_cast<std::int64_t>(::getpid()), own_start_ticks().value_or(0),
                         static_cast<std::int64_t>(pid_namespace())}) {
    all += " " + std::to_string(one);
  }
  return core::fnv1a(all);
}

std::uint64_t pid_namespace() noexcept {
  struct stat s {};
  return ::stat("/proc/thread-self/ns/pid", &s) == 0 ? s.st_ino : 0;
}

bool is_running(std::int64_t pid) noexcept {
  return pid > 0 && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(file, line);
  return line;
}

std::string boot_clock() {
  const std::string boot = boot_id();
  if (boot.empty()) return {};
  struct stat own {};
  struct stat next {};
  if (::stat("/proc/thread-self/ns/time", &own) != 0) {
    // A kernel without them, if it has others.
    return errno == ENOENT && pid_namespace() != 0 ? boot + " 0" : std::string();
  }
  // The offsets that can be read are those of the namespace of the children, mostly the same.
  const bool is_same =
      ::stat("/proc/thread-self/ns/time_for_children", &next) == 0 && next.st_ino == own.st_ino;
  const std::string shift = is_same ? boot_offset() : std::string();
  return shift.empty() ? shift : boot + ' ' + std::to_string(own.st_ino) + ' ' + shift;
}

wall_time wall_now() noexcept {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace holdfast::io
