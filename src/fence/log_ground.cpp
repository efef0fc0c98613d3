#include "fence/log_ground.hpp"

#include "io/process_identity.hpp"
#include "io/random.hpp"

namespace holdfast::fencing {

result<log_ground> real_ground(const std::string& directory, io::absent what) {
  auto files = io::open_folder(directory, what);
  if (!files) return files.error();
  const std::string boot = io::boot_id();
  // Without a boot id no mark is believed, and everything is read instead.
  const std::uint64_t sum =
      boot.empty() ? io::random_bits() : checksum_of(std::as_bytes(std::span(boot)));
  return log_ground{std::move(*files), sum | 1U};
}

}  // namespace holdfast::fencing
