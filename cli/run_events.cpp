#include "cli/run_events.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace holdfast::cli {

namespace {

/// They go to the guardian in one message, and the environment may be anybody's.
constexpr std::size_t own_runs_max = 256;

}  // namespace

run_events::run_events(waiting_line& line)
    : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), line_(&line) {
  for (const char* variable : {"HOLDFAST_SESSION", "HOLDFAST_OUTER"}) {
    const char* value = std::getenv(variable);
    std::istringstream words(value != nullptr ? value : "");
    for (std::string word; words >> word && own_runs_.size() < own_runs_max;) {
      if (const auto id = session_id::parse(word)) own_runs_.push_back(*id);
    }
  }
}

std::string run_events::own_runs() const {
  std::string text;
  for (const session_id& id : own_runs_) text += (text.empty() ? "" : " ") + id.str();
  return text;
}

void run_events::on(const event::waiting& e) noexcept {
  {
    const std::lock_guard hold(mutex_);
    if (line_ != nullptr) line_->heard(e);
    waits_for_own_run_ = e.first && is_own_run(e.first->id);
    names_nobody_ = !e.first;
    ++times_notified_;
  }
  wake();
}

void run_events::on(const event::lost& e) noexcept {
  {
    const std::lock_guard hold(mutex_);
    why_lost_ = e.reason;
  }
  wake();
}

std::string run_events::why_lost() {
  const std::lock_guard hold(mutex_);
  return why_lost_;
}

void run_events::acquired(result<lock> r) {
  {
    const std::lock_guard hold(mutex_);
    acquired_.emplace(std::move(r));
  }
  wake();
}

std::optional<result<lock>> run_events::take_acquired() {
  const std::lock_guard hold(mutex_);
  return std::exchange(acquired_, std::nullopt);
}

bool run_events::waits_for_own_run() {
  const std::lock_guard hold(mutex_);
  return waits_for_own_run_;
}

bool run_events::may_wait_for_own_run() {
  const std::lock_guard hold(mutex_);
  return names_nobody_ && !own_runs_.empty();
}

bool run_events::is_own_run(const session_id& id) const {
  return std::ranges::find(own_runs_, id) != own_runs_.end();
}

std::uint64_t run_events::times_notified() {
  const std::lock_guard hold(mutex_);
  return times_notified_;
}

void run_events::wake() noexcept {
  const std::uint64_t one = 1;
  // It fails only when the counter is full, and then the loop is awake anyway.
  if (::write(wake_.get(), &one, sizeof one) < 0) return;
}

void run_events::drain() noexcept {
  std::uint64_t count{};
  if (::read(wake_.get(), &count, sizeof count) < 0) return;
}

void run_events::detach() noexcept {
  const std::lock_guard hold(mutex_);
  line_ = nullptr;
}

}  // namespace holdfast::cli
