#include "cli/run_events.hpp"

#include <sys/eventfd.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

namespace holdfast::cli {

run_events::run_events(waiting_line& line)
    : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), line_(&line) {
  if (const char* id = std::getenv("HOLDFAST_SESSION")) own_run_ = session_id::parse(id);
}

void run_events::on(const event::waiting& e) noexcept {
  {
    const std::lock_guard hold(mutex_);
    if (line_ != nullptr) line_->heard(e);
    waits_for_own_run_ = own_run_ && e.first && e.first->id == *own_run_;
  }
  wake();
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
