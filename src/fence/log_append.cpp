#include "fence/log_names.hpp"
#include "fence/log_owner.hpp"
#include "io/file/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

/// Appends and syncs, as many at once as wait for them. The one who leads (append_queue) runs all
/// of this, so one thread at a time.

namespace holdfast::fencing {
namespace {

using kind = pending_call::kind;

void fail(std::span<pending_call* const> calls, const error& why) {
  for (auto* one : calls) one->failed = why;
}

/// What later calls get after a failure whose own call had an unknown outcome.
error stopped_after(const error& why) {
  return {errc::unavailable,
          "this writer stopped: " + why.message() + "; open the log anew, with the same token"};
}

error unknown_after(const error& why) {
  return {errc::outcome_unknown, why.message() +
                                     "; whether the record is in the log shows when it is "
                                     "opened anew and read"};
}

std::uint64_t bytes_of(std::span<pending_call* const> calls) {
  std::uint64_t sum = 0;
  for (const auto* one : calls) {
    if (one->what == kind::append) sum += record_head_bytes + one->record.size();
  }
  return sum;
}

}  // namespace

/// The writer's rule: write, [sync], full fence, load the epoch; acknowledged only if it is still
/// its own.
void log_owner::append_all(std::span<pending_call* const> calls) {
  if (stopped_) return fail(calls, *stopped_);
  // Before a byte is written: whoever was replaced long ago leaves nothing behind.
  if (log_.epoch_hint() != mine_) {
    stop(replaced(log_, mine_));
    return fail(calls, *stopped_);
  }
  // What may throw comes before anything is changed: then the writer goes on.
  if (const auto needed = bytes_of(calls); batch_.size() < needed) batch_.resize(needed);
  changing_ = true;
  if (auto room = make_room(calls); !room) return go_on_without_room(calls, room.error());
  std::size_t size = 0;
  std::uint64_t number = version_.next + at_.records;
  for (auto* one : calls) {
    if (one->what != kind::append) continue;
    one->number = {number};
    size += encode_record(std::span(batch_).subspan(size), one->record, segment_.id, number++);
  }
  const std::string& path = log_.files().path();
  const auto written = std::span<const std::byte>(batch_).first(size);
  if (auto put = io::write_fully(*segment_.file, written, at_.bytes, path); !put) {
    stop(stopped_after(put.error()));
    return fail(calls, unknown_after(put.error()));
  }
  at_ = {at_.bytes + size, number - version_.next};
  const auto is_synced = [](const pending_call* one) {
    return one->needed == survives::power_loss;
  };
  const bool any_synced = std::any_of(calls.begin(), calls.end(), is_synced);
  // Whoever needs no sync does not wait for that of others.
  if (!any_synced || !std::all_of(calls.begin(), calls.end(), is_synced)) {
    acknowledge(calls, survives::kill);
  }
  if (any_synced && !stopped_) sync_for(calls);
}

/// A sync writes no record, and makes those that are there last.
void log_owner::go_on_without_room(std::span<pending_call* const> calls, const error& why) {
  std::array<pending_call*, call_group::calls_max> syncs{};
  std::size_t count = 0;
  for (auto* one : calls) {
    if (one->what == kind::append) {
      one->failed = why;
    } else {
      syncs[count++] = one;
    }
  }
  const auto left = std::span<pending_call* const>(syncs).first(count);
  if (stopped_) return fail(left, *stopped_);
  if (!left.empty()) sync_for(left);
}

void log_owner::acknowledge(std::span<pending_call* const> calls, survives what) {
  if (log_.epoch() == mine_) {
    segment_.mark.set_acknowledged(at_);
    if (what == survives::power_loss) segment_.mark.set_synced(synced_ = at_);
    return;
  }
  resolve(calls, what);
}

void log_owner::sync_for(std::span<pending_call* const> calls) {
  if (auto synced = sync_file(); !synced) {
    for (auto* one : calls) {
      if (one->needed == survives::power_loss) one->failed = unknown_after(synced.error());
    }
    return;
  }
  acknowledge(calls, survives::power_loss);
}

result<void> log_owner::sync_file() {
  const auto synced = segment_.file->sync();
  if (synced) return {};
  // Never again on this file: the kernel has dropped the data that it could not write, and a
  // second sync would succeed without it.
  segment_.mark.set_failed();
  const error why =
      io::file_failure("sync", log_.files().at(segment_name(segment_.id)), synced.code);
  stop(stopped_after(why));
  return why;
}

/// The epoch is a newer one, and what was just written may lie before the new writer's cut or
/// behind it. Behind it is certain only once the version that fixes the cut is on the disk.
void log_owner::resolve(std::span<pending_call* const> calls, survives what) {
  stop(replaced(log_, mine_));
  const auto newest = log_.newest();
  std::uint64_t cut = UINT64_MAX;
  if (newest && log_.files().sync()) {
    const auto sealed =
        std::find_if(newest->sealed.begin(), newest->sealed.end(),
                     [this](const sealed_segment& s) { return s.id == segment_.id; });
    if (sealed != newest->sealed.end()) {
      cut = sealed->end();
    } else if (newest->owner > mine_ && newest->next == version_.next) {
      cut = newest->next;  // It sealed nothing of ours.
    }
  }
  for (auto* one : calls) {
    // The others were acknowledged before the sync.
    if (what == survives::power_loss && one->needed != what) continue;
    if (one->what == kind::append && one->number.value < cut) {
      one->failed = unknown_after(*stopped_);
    } else {
      one->failed = *stopped_;
    }
  }
}

result<void> log_owner::make_room(std::span<pending_call* const> calls) {
  const std::uint64_t bytes = bytes_of(calls);
  if (bytes > 0 && version_.sealed.size() >= segments_max) {
    return error(errc::unavailable,
                 log_.files().path() + " has " + std::to_string(version_.sealed.size()) +
                     " segments, too many for another record: compact() merges those that fit into "
                     "one of segment_bytes, discard_before() drops old ones");
  }
  if (at_.bytes > 0 && at_.bytes + bytes > options_.segment_bytes) {
    if (auto begun = begin_segment(); !begun) return begun;
  }
  return reserve(at_.bytes + bytes);
}

result<void> log_owner::reserve(std::uint64_t bytes) {
  if (bytes <= reserved_ || options_.reserve_bytes == 0) return {};
  // More at a time as the segment grows: each reservation is a call that appends pay for.
  const std::uint64_t grown =
      std::clamp(reserved_, options_.reserve_bytes, 16 * options_.reserve_bytes);
  const std::uint64_t spare = spare_bytes(version_);
  std::uint64_t ahead = std::max(bytes - reserved_, grown);
  if (!reserve_in(segment_, reserved_, ahead + spare)) {
    // A disk that is nearly full, or a quota, may have room for this record.
    ahead = bytes - reserved_;
    if (auto got = reserve_in(segment_, reserved_, ahead + spare); !got) return got;
  }
  reserved_ += ahead;
  return {};
}

/// Before a record needs it: others may fill the disk before there is one.
result<void> log_owner::reserve_spare(const own_segment& in, std::uint64_t from,
                                      const log_inline& v) const {
  if (options_.reserve_bytes == 0) return {};
  return reserve_in(in, from, spare_bytes(v));
}

result<void> log_owner::reserve_in(const own_segment& in, std::uint64_t from,
                                   std::uint64_t bytes) const {
  const auto got = io::reserve_fully(*in.file, from, bytes);
  if (got || got.code == EOPNOTSUPP) return {};
  return io::file_failure("reserve space for", log_.files().at(segment_name(in.id)), got.code,
                          "free some space; the record was not written");
}

}  // namespace holdfast::fencing
