#include "io/file/writers_turn.hpp"

#include <holdfast/duration.hpp>

namespace holdfast::io {

result<writers_turn> writers_turn::take(const place& where, const std::string& name,
                                        duration limit) {
  const std::string lock = name + ".lock";
  auto file = open_or_create(where, lock.c_str(), 0600);
  if (!file) return file.error();
  const auto got = lock_byte(file->get(), 0, share::alone, limit);
  if (!got) return error(errc::unavailable, where.at(lock) + ": " + got.error().message());
  if (!*got) {
    return error(errc::unavailable, "another process has had " + where.at(lock) + " locked for " +
                                        print_duration(limit));
  }
  return writers_turn(std::move(*file));
}

}  // namespace holdfast::io
