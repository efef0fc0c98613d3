#include "fence/log_mark.hpp"

#include "fence/log_directory.hpp"
#include "fence/log_names.hpp"
#include "io/file/files.hpp"

#include <cerrno>

namespace holdfast::fencing {

result<log_mark> log_mark::create(io::folder& files, const segment_id& of, std::uint64_t boot) {
  const std::string name = mark_name(of);
  log_mark made;
  int code = 0;
  made.file_ = files.open(name, io::opening::create, code);
  if (!made.file_) return io::file_failure("create", files.at(name), code);
  if (const auto sized = made.file_->truncate(page); !sized) {
    return io::file_failure("set the size of", files.at(name), sized.code);
  }
  // Real blocks: a store into a mapped hole of a full disk is SIGBUS; see io::overwrite_in_place().
  const auto reserved = io::reserve_fully(*made.file_, 0, page);
  if (!reserved && reserved.code != EOPNOTSUPP) {
    return io::file_failure("reserve space for", files.at(name), reserved.code);
  }
  made.data_ = made.file_->map(page, code);
  if (made.data_ == nullptr) return io::file_failure("map", files.at(name), code);
  made.at(0).store(boot);
  made.age_ = age::this_boot;
  return made;
}

log_mark log_mark::find(io::folder& files, const segment_id& of, std::uint64_t boot,
                        io::opening how) {
  log_mark found;
  int code = 0;
  found.file_ = files.open(mark_name(of), how, code);
  if (!found.file_) return {};
  const auto size = found.file_->size();
  if (!size || size.value < static_cast<std::int64_t>(page)) return {};
  found.data_ = found.file_->map(page, code);
  if (found.data_ == nullptr) return {};
  const std::uint64_t of_mark = found.at(0).load();
  if (boot == unknown_boot || of_mark == unknown_boot) return found;
  found.age_ = of_mark == boot ? age::this_boot : age::earlier_boot;
  return found;
}

void log_mark::set_failed() const noexcept {
  if (age_ == age::this_boot) at(3).store(1);
}

}  // namespace holdfast::fencing
