#include "history/register_machine.hpp"

#include <algorithm>

namespace holdfast::history {

bool register_machine::must_pass(const step& s) noexcept {
  return s.what == effect::admitted && !s.may_be_left_out && s.token != 0;
}

register_machine::register_machine(const std::vector<step>& steps) {
  for (const step& s : steps) {
    if (must_pass(s)) awaited_.push_back({s.token, 1});
  }
  std::sort(awaited_.begin(), awaited_.end(),
            [](const awaited& a, const awaited& b) { return a.token < b.token; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < awaited_.size(); ++i) {
    if (kept > 0 && awaited_[kept - 1].token == awaited_[i].token) {
      ++awaited_[kept - 1].left;
    } else {
      awaited_[kept++] = awaited_[i];
    }
  }
  awaited_.resize(kept);
}

bool register_machine::may_come_to(std::uint64_t token) const noexcept {
  return token >= now_.floor &&
         (now_.lowest == awaited_.size() || token <= awaited_[now_.lowest].token);
}

register_machine::awaited* register_machine::count(const step& s) noexcept {
  if (!must_pass(s)) return nullptr;
  const auto at = std::lower_bound(awaited_.begin(), awaited_.end(), s.token,
                                   [](const awaited& a, std::uint64_t t) { return a.token < t; });
  --at->left;
  while (now_.lowest < awaited_.size() && awaited_[now_.lowest].left == 0) ++now_.lowest;
  return &*at;
}

bool register_machine::apply(const step& s) {
  const state before = now_;
  if (s.what == effect::refused) {
    if (s.token >= now_.floor) return false;
  } else if (s.what == effect::raised) {
    // Below the floor it changes nothing; above it must not shut out who has to pass.
    if (s.token > now_.floor && !may_come_to(s.token)) return false;
    now_.floor = std::max(now_.floor, s.token);
  } else {
    if (s.token != 0 && !may_come_to(s.token)) return false;
    const bool fits =
        s.is_write || s.value == now_.value || s.value == not_told || now_.value == not_told;
    if (!fits) return false;
    if (s.token != 0) now_.floor = s.token;
    if (s.is_write) now_.value = s.value;
  }
  done_.push_back({before, nullptr});
  if (s.what == effect::admitted) done_.back().counted = count(s);
  return true;
}

void register_machine::undo() {
  if (done_.back().counted != nullptr) ++done_.back().counted->left;
  now_ = done_.back().before;
  done_.pop_back();
}

bool register_machine::is_harmless(const step& s) const {
  if (s.what == effect::refused) return true;
  if (s.what == effect::raised) return s.token <= now_.floor;
  // Where the value is not told, a read fits now and may fit later as well.
  return !s.is_write && (s.token == 0 || s.token == now_.floor);
}

}  // namespace holdfast::history
