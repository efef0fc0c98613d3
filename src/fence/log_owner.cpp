#include "fence/log_owner.hpp"

#include "io/process/fork_mark.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace holdfast::fencing {
namespace {

/// Records that are written together.
constexpr std::size_t group_bytes_max = std::size_t{1} << 20;
/// Groups that one leader serves before the next leads, when its own call needed a sync: waking
/// another thread for each sync costs as much as the sync where the processors are busy.
constexpr int rounds_max = 4;
constexpr std::uint64_t segment_bytes_min = 4096;
constexpr std::uint64_t segment_bytes_max = std::uint64_t{1} << 30;

}  // namespace

log_owner::log_owner(log_directory log, taken_log taken, const log_options& options)
    : log_(std::move(log)),
      options_(options),
      taken_(std::move(taken)),
      mine_(taken_.mine),
      process_(io::process_generation()),
      version_(taken_.version),
      segment_(std::move(*taken_.segment)),
      // Made beforehand: where memory has run out there is none for a message.
      broken_(errc::unavailable,
              "this writer stopped: a call of it ran out of memory when it may have written; open "
              "the log anew, with the same token") {
  // Where there is no room the log opens none the less, for there may be enough to discard records.
  (void)reserve_spare(segment_, 0, version_);
}

log_owner::~log_owner() {
  if (io::process_generation() == process_) clean();
}

void log_owner::clean() noexcept {
  if (!std::exchange(cleaned_, true)) clean_up(log_, taken_);
}

result<void> log_owner::check(const log_options& options) {
  if (options.segment_bytes < segment_bytes_min || options.segment_bytes > segment_bytes_max) {
    return error(errc::invalid_argument, "segment_bytes is " +
                                             std::to_string(options.segment_bytes) +
                                             ", it has to be from 4096 to 1073741824");
  }
  if (options.reserve_bytes > segment_bytes_max) {
    return error(errc::invalid_argument, "reserve_bytes is " +
                                             std::to_string(options.reserve_bytes) +
                                             ", it may be 1073741824 at most");
  }
  return {};
}

result<std::unique_ptr<log_owner>> log_owner::open(log_ground on, const fencing_token& with,
                                                   const log_options& options) {
  if (auto good = with.check(); !good) return good.error();
  if (auto good = check(options); !good) return good.error();
  const std::string source = with.from.str();
  auto log = log_directory::open(std::move(on), &source, io::opening::write);
  if (!log) return log.error();
  auto taken = take_over(*log, with.value, then::write);
  if (!taken) return taken.error();
  return std::unique_ptr<log_owner>(new log_owner(std::move(*log), std::move(*taken), options));
}

void log_owner::run(pending_call& mine) {
  if (queue_.enter(mine) || queue_.wait(mine)) lead(mine);
  if (mine.thrown) std::rethrow_exception(std::move(mine.thrown));
}

// From here to leave() nothing may throw: whoever is in line waits for this one.
void log_owner::lead(pending_call& mine) noexcept {
  call_group group;
  pending_call* first = &mine;
  for (int round = 1; first != nullptr; ++round) {
    queue_.gather(*first, group_bytes_max, group);
    serve(group.calls());
    const bool go_on = round < rounds_max && mine.needed == survives::power_loss;
    first = queue_.leave(group, mine, go_on);
    if (!go_on) return;
  }
}

void log_owner::serve(std::span<pending_call* const> calls) noexcept {
  while (!calls.empty()) {
    std::size_t same = 0;
    // In the order in which they came: appends before and behind one that runs alone are groups of
    // their own.
    while (same < calls.size() && calls[same]->what != pending_call::kind::other) ++same;
    same = std::max<std::size_t>(same, 1);
    serve_alike(calls.first(same));
    calls = calls.subspan(same);
  }
}

/// Appends and syncs, or one that runs alone.
void log_owner::serve_alike(std::span<pending_call* const> calls) noexcept {
  try {
    if (calls[0]->what != pending_call::kind::other) {
      append_all(calls);
    } else {
      changing_ = true;
      calls[0]->body();
    }
  } catch (...) {
    for (auto* one : calls) one->thrown = std::current_exception();
    if (changing_ && !stopped_) stopped_ = std::move(broken_);
  }
  changing_ = false;
}

namespace {

error of_another_process() {
  return {errc::lost,
          "this log was opened before a fork and belongs to the parent process; open "
          "it anew"};
}

}  // namespace

result<record_number> log_owner::append(std::span<const std::byte> record, survives what) {
  if (io::process_generation() != process_) return of_another_process();
  if (record.size() > record_bytes_max) {
    return error(errc::invalid_argument, "a record of " + std::to_string(record.size()) +
                                             " bytes is too long, 16777216 are the most");
  }
  pending_call mine{.needed = what, .record = record};
  run(mine);
  if (mine.failed) return std::move(*mine.failed);
  return mine.number;
}

result<void> log_owner::sync() {
  if (io::process_generation() != process_) return of_another_process();
  pending_call mine{.what = pending_call::kind::sync, .needed = survives::power_loss};
  run(mine);
  if (mine.failed) return std::move(*mine.failed);
  return {};
}

result<void> log_owner::may_change() {
  if (stopped_) return *stopped_;
  if (log_.epoch() == mine_) return {};
  stop(replaced(log_, mine_));
  return *stopped_;
}

template <class T>
result<T> log_owner::run_alone(const std::function<result<T>()>& body) {
  if (io::process_generation() != process_) return of_another_process();
  result<T> done = errc::unavailable;
  pending_call mine{.what = pending_call::kind::other};
  mine.body = [&] {
    if (auto may = may_change(); !may) {
      done = may.error();
    } else {
      done = body();
    }
  };
  run(mine);
  return done;
}

result<record_number> log_owner::seal() {
  return run_alone<record_number>([this] { return seal_now(); });
}
result<record_number> log_owner::discard_before(record_number first) {
  return run_alone<record_number>([this, first] { return discard_now(first); });
}
result<std::size_t> log_owner::compact() {
  return run_alone<std::size_t>([this] { return compact_now(); });
}

void log_owner::stop(const error& why) {
  if (!stopped_) stopped_ = why;
}

}  // namespace holdfast::fencing
