#include "fence/floor_locks.hpp"

#include "io/file/file_lock.hpp"

#include <holdfast/duration.hpp>

namespace holdfast::fencing {

namespace {

std::int64_t byte_of(std::uint64_t resource, sharing how) noexcept {
  return floor_locks::first + 1 + 2 * static_cast<std::int64_t>(resource) +
         (how == sharing::shared ? 1 : 0);
}

/// Behind all others; one byte for each token.
std::int64_t settled_byte(std::uint64_t resource, token t) noexcept {
  return 2 * floor_locks::first +
         static_cast<std::int64_t>(resource * (token_max.value + 1) + t.value);
}

}  // namespace

result<void> floor_locks::lock_records(duration limit) {
  if (!file_) return {};
  const auto got = io::lock_byte(file_.get(), first, io::share::alone, limit);
  if (!got) return got.error();
  if (*got) return {};
  return error(errc::unavailable, "another process has been using " + path_ + " for more than " +
                                      print_duration(limit) +
                                      "; it is probably stopped: continue or end it");
}

void floor_locks::unlock_records() noexcept {
  if (file_) io::unlock_byte(file_.get(), first);
}

result<bool> floor_locks::alone(std::int64_t byte) const {
  return io::try_lock_byte(file_.get(), byte, io::share::alone);
}

// From alone to together nobody can come between.
void floor_locks::settle(std::int64_t byte, bool& held, bool keep) const noexcept {
  if (keep) {
    static_cast<void>(io::try_lock_byte(file_.get(), byte, io::share::together));
  } else {
    io::unlock_byte(file_.get(), byte);
  }
  held = keep;
}

result<bool> floor_locks::others_ended(std::uint64_t resource, token t, sharing how,
                                       floor_keeper::kinds keep) {
  if (!file_) return true;
  if (how == sharing::exclusive && resource < settled_resources &&
      io::is_held_together(file_.get(), settled_byte(resource, t))) {
    // Somebody is alone there only for a moment, and then sees us.
    auto seen = io::try_lock_byte(file_.get(), byte_of(resource, how), io::share::together);
    if (seen && *seen) holds_exclusive_ = true;
    return seen;
  }
  return none_of_both(resource, how, keep);
}

result<bool> floor_locks::none_of_both(std::uint64_t resource, sharing how,
                                       floor_keeper::kinds keep) {
  const auto writers = byte_of(resource, sharing::exclusive);
  const auto readers = byte_of(resource, sharing::shared);
  auto ended = alone(writers);
  if (!ended || !*ended) return ended;
  if (how == sharing::exclusive) {
    ended = alone(readers);
    if (ended && *ended) settle(readers, holds_shared_, keep.shared);
  } else {
    // Somebody is alone there only for a moment, and then sees us.
    ended = io::try_lock_byte(file_.get(), readers, io::share::together);
    if (ended && *ended) holds_shared_ = true;
  }
  settle(writers, holds_exclusive_, ended && *ended ? keep.exclusive : holds_exclusive_);
  return ended;
}

void floor_locks::settled(std::uint64_t resource, token t) noexcept {
  if (!file_ || resource >= settled_resources || t <= settled_) return;
  if (settled_.value != 0) io::unlock_byte(file_.get(), settled_byte(resource, settled_));
  static_cast<void>(io::try_lock_byte(file_.get(), settled_byte(resource, t), io::share::together));
  settled_ = t;
}

void floor_locks::ended(std::uint64_t resource, sharing how) noexcept {
  bool& held = how == sharing::exclusive ? holds_exclusive_ : holds_shared_;
  if (held) settle(byte_of(resource, how), held, false);
}

}  // namespace holdfast::fencing
