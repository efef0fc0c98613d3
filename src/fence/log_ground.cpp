#include "fence/log_ground.hpp"

#include <holdfast/lock_name.hpp>

#include "io/process/process_identity.hpp"

namespace holdfast::fencing {

result<log_ground> real_ground(const std::string& directory, io::absent what) {
  if (directory.empty() || directory.front() != '/') {
    return error(errc::invalid_argument,
                 "a log needs an absolute path, or it would be another log in every directory; it "
                 "has '" +
                     lock_name(directory).printable() + "'");
  }
  if (directory.find('\0') != std::string::npos) {
    return error(errc::invalid_argument,
                 "the path of a log has a NUL: " + lock_name(directory).printable());
  }
  auto files = io::open_folder(directory, what);
  if (!files) return files.error();
  const std::string boot = io::boot_id();
  if (boot.empty()) return log_ground{std::move(*files), unknown_boot};
  // Never zero, which is unknown_boot.
  return log_ground{std::move(*files), checksum_of(std::as_bytes(std::span(boot))) | 1U};
}

}  // namespace holdfast::fencing
