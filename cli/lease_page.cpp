#include "cli/lease_page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#if !defined(F_SEAL_FUTURE_WRITE)  // linux/fcntl.h has it since 5.1, glibc 2.36 does not.
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace holdfast::cli {

using namespace std::chrono_literals;

namespace {

// Zero on a kernel without that kind; two processes there agree on it.
std::string namespace_of_this_process(const char* kind) {
  struct stat seen {};
  const bool there = ::stat((std::string("/proc/self/ns/") + kind).c_str(), &seen) == 0;
  return std::to_string(there ? seen.st_ino : 0);
}

std::string cut_before_colon(std::string& rest) {
  const std::size_t end = std::min(rest.find(':'), rest.size());
  std::string part = rest.substr(0, end);
  rest.erase(0, end + 1);
  return part;
}

/// The process lives, and /proc does not show it to this user.
bool is_hidden(const std::string& path) {
  constexpr std::string_view proc = "/proc/";
  if (!path.starts_with(proc)) return false;
  pid_t pid{};
  const char* const end = path.data() + path.size();
  const auto number = std::from_chars(path.data() + proc.size(), end, pid);
  const std::string directory(path.data(), number.ptr);
  return pid > 0 && ::access(directory.c_str(), F_OK) != 0 && ::kill(pid, 0) != 0 && errno == EPERM;
}

}  // namespace

result<lease_memory> lease_memory::create() {
  descriptor fd(::memfd_create("holdfast-lease", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), sizeof(lease_page)) != 0) {
    return error(errc::unavailable,
                 std::string("shared memory for the guardian: ") + std::strerror(errno));
  }
  void* at = ::mmap(nullptr, sizeof(lease_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) {
    return error(errc::unavailable,
                 std::string("mapping the guardian's page: ") + std::strerror(errno));
  }
  // Whoever opens it later through /proc must not be able to lengthen a lease. A kernel without
  // this seal only loses that protection against processes of the same user.
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
  auto* page = new (at) lease_page{};
  page->magic = lease_page::magic_value;
  return lease_memory(std::move(fd), page);
}

std::string lease_memory::address(pid_t holder) const {
  return namespace_of_this_process("pid") + ":" + namespace_of_this_process("time") + ":/proc/" +
         std::to_string(holder) + "/fd/" + std::to_string(fd());
}

result<lease_memory> lease_memory::look(const std::string& address, const session_id& expected) {
  std::string path = address;
  const std::string pid_namespace = cut_before_colon(path);
  if (cut_before_colon(path) != namespace_of_this_process("time")) {
    return error(errc::unavailable,
                 "this process is in another time namespace than holdfast run, so its clock does "
                 "not show when the lease ends; check it outside");
  }
  auto found = look_at(path, expected);
  if (found || found.error() != errc::lost) return found;
  if (pid_namespace == namespace_of_this_process("pid")) return found;
  return error(errc::unavailable,
               "this process is in another pid namespace than holdfast run and has a /proc of its "
               "own, which does not show " +
                   path + "; check it outside, or with the outer /proc mounted here");
}

result<lease_memory> lease_memory::look_at(const std::string& path, const session_id& expected) {
  descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && (errno == ENOENT || errno == ESRCH)) {
    if (is_hidden(path)) {
      return error(errc::unavailable, path +
                                          " is hidden from this user (/proc is mounted with "
                                          "hidepid); check it as the user of holdfast run");
    }
    return error(errc::lost, "the guardian of this run is gone (" + path + " does not exist)");
  }
  if (!fd) return error(errc::unavailable, "opening " + path + ": " + std::strerror(errno));
  struct stat seen {};
  if (::fstat(fd.get(), &seen) != 0 || !S_ISREG(seen.st_mode) ||
      seen.st_size != static_cast<off_t>(sizeof(lease_page))) {
    return error(errc::lost, path + " is not the page of a guardian: this run has ended");
  }
  void* at = ::mmap(nullptr, sizeof(lease_page), PROT_READ, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return error(errc::unavailable, "mapping " + path);
  lease_memory found(std::move(fd), static_cast<lease_page*>(at));
  const lease_page& page = found.page();
  if (page.magic != lease_page::magic_value ||
      std::string_view(page.session, 32) != expected.str()) {
    return error(errc::lost, path + " belongs to another run: this one has ended");
  }
  return found;
}

lease_memory::lease_memory(lease_memory&& other) noexcept
    : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}

lease_memory::~lease_memory() {
  if (page_ != nullptr) ::munmap(page_, sizeof(lease_page));
}

duration kill_distance(duration ttl) noexcept {
  return std::min(std::max(duration(50ms), ttl / 50), ttl / 10);
}

duration grace_limit(duration ttl) noexcept { return ttl / 2; }

duration grace_default(duration ttl) noexcept { return std::min(duration(5s), ttl / 4); }

duration stop_distance(duration ttl, duration grace) noexcept { return kill_distance(ttl) + grace; }

deadlines deadlines_of(time_point valid_until, duration ttl, duration grace) noexcept {
  const time_point kill_at = valid_until - kill_distance(ttl);
  return {kill_at - grace, kill_at};
}

}  // namespace holdfast::cli
