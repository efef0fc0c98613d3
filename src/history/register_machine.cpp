#include "history/register_machine.hpp"

#include <algorithm>

namespace holdfast::history {

namespace {

std::vector<std::uint64_t> to_pass(const std::vector<step>& steps, bool shared) {
  std::vector<std::uint64_t> tokens;
  for (const step& s : steps) {
    if (must_pass(s) && s.how.is_shared() == shared) tokens.push_back(s.token);
  }
  return tokens;
}

}  // namespace

register_machine::register_machine(const std::vector<step>& steps)
    : exclusive_(to_pass(steps, false)), shared_(to_pass(steps, true)) {}

/// Whether all that have to pass, and could not after it, have passed.
bool register_machine::shuts_nobody_out(const step& s) const noexcept {
  return !exclusive_.any_below(s.token) && (s.how.is_shared() || !shared_.any_below(s.token));
}

awaited_tokens& register_machine::awaited_like(const step& s) noexcept {
  return s.how.is_shared() ? shared_ : exclusive_;
}

bool register_machine::is_past(const step& s) const {
  if (s.what == effect::raised || s.token == 0) return false;
  return s.token < (s.how.is_shared() ? now_.floor : now_.newest);
}

bool register_machine::apply(const step& s) {
  const state before = now_;
  // Below the floor a raise changes nothing.
  const bool changes = s.what == effect::raised ? s.token > now_.floor : s.token != 0;
  if (is_past(s) || (changes && !shuts_nobody_out(s))) return false;
  if (s.what == effect::admitted) {
    const bool fits =
        s.is_write || s.value == now_.value || s.value == unrecorded || now_.value == unrecorded;
    if (!fits) return false;
    if (s.is_write) now_.value = s.value;
  }
  now_.newest = std::max(now_.newest, s.token);
  if (!s.how.is_shared()) now_.floor = std::max(now_.floor, s.token);
  done_.push_back({before, must_pass(s) ? &s : nullptr});
  if (must_pass(s)) awaited_like(s).passed(s.token);
  return true;
}

void register_machine::undo() {
  const memory& last = done_.back();
  if (last.passed != nullptr) awaited_like(*last.passed).take_back(last.passed->token);
  now_ = last.before;
  done_.pop_back();
}

bool register_machine::is_harmless(const step& s) const {
  if (s.what == effect::raised) return s.token <= now_.floor;
  // Where the value is unrecorded, a read fits now and may fit later as well.
  return !s.is_write && s.token <= (s.how.is_shared() ? now_.newest : now_.floor);
}

}  // namespace holdfast::history
