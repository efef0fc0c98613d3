#include "fence/log_ground.hpp"

#include <holdfast/lock_name.hpp>

#include "io/process_identity.hpp"
#include "io/random.hpp"

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
  // Without a boot id no mark is believed, and everything is read instead.
  const std::uint64_t sum =
      boot.empty() ? io::random_bits() : checksum_of(std::as_bytes(std::span(boot)));
  return log_ground{std::move(*files), sum | 1U};
}

}  // namespace holdfast::fencing
