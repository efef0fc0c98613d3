#include "fence/record_cursor.hpp"

#include <algorithm>

namespace holdfast::fencing {
namespace {

constexpr std::size_t window_bytes = std::size_t{1} << 18;

}  // namespace

/// Has `needed` bytes from here on in the window, if the file has them before `limit`. False: they
/// were there before, and nothing was read.
result<bool> record_cursor::fill(std::size_t needed, std::uint64_t limit) {
  const std::uint64_t end = window_at_ + window_size_;
  if (at_.bytes >= window_at_ && at_.bytes + needed <= end) return false;
  const std::uint64_t left = limit > at_.bytes ? limit - at_.bytes : 0;
  const std::size_t size = static_cast<std::size_t>(
      std::min<std::uint64_t>(left, std::max<std::size_t>(needed, window_bytes)));
  if (window_.size() < size) window_.resize(size);
  const auto got = io::read_fully(*file_, std::span(window_).first(size), at_.bytes, path_);
  if (!got) return got.error();
  window_at_ = at_.bytes;
  window_size_ = *got;
  return true;
}

result<record_cursor::step> record_cursor::look(std::uint64_t limit) {
  if (at_.bytes >= limit) return step::end;
  std::size_t needed = record_head_bytes;
  for (bool fresh = false;;) {
    // First the head, which says how long the record is, and then all of it.
    const auto read = fill(needed, limit);
    if (!read) return read.error();
    fresh = fresh || *read;
    const auto skip = static_cast<std::size_t>(at_.bytes - window_at_);
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(window_size_, limit - window_at_));
    const auto there = std::span(window_).first(size).subspan(skip);
    if (there.empty()) {
      window_size_ = 0;
      return step::end;
    }
    found_ = decode_record(there, id_, number());
    if (found_.is == record_there::state::whole) return step::record;
    if (found_.bytes > there.size() && found_.bytes > needed && at_.bytes + found_.bytes <= limit) {
      needed = found_.bytes;
      continue;
    }
    // What was read earlier may have become whole since.
    window_size_ = 0;
    if (fresh) return step::torn;
  }
}

}  // namespace holdfast::fencing
