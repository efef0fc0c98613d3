#include "history/lock_machine.hpp"

#include <algorithm>

namespace holdfast::history {

lock_machine::lock_machine(const std::vector<step>& steps, tokens t) : tokens_(t) {
  for (const step& s : steps) {
    if (s.grant >= grants_.size()) grants_.resize(s.grant + 1);
    auto& g = grants_[s.grant];
    if (s.what == effect::grant) g.how = s.how;
    if (s.what == effect::proof || s.what == effect::give_back) ++g.proofs_left;
  }
  if (t != tokens::ignored) rank(steps);
}

void lock_machine::rank(const std::vector<step>& steps) {
  std::vector<const step*> by_token;
  for (const step& s : steps) {
    if (s.what == effect::grant && s.token != 0) by_token.push_back(&s);
  }
  std::stable_sort(by_token.begin(), by_token.end(),
                   [](const step* a, const step* b) { return a->token < b->token; });
  std::size_t exclusive = 0;
  for (std::size_t i = 0; i < by_token.size(); ++i) {
    auto& g = grants_[by_token[i]->grant];
    g.is_repeated = i > 0 && by_token[i - 1]->token == by_token[i]->token;
    g.smaller = i;
    g.smaller_exclusive = exclusive;
    if (g.how.is_exclusive()) ++exclusive;
  }
}

// Counting is enough: no grant is done before all that have to be before it, so those that are done
// are those with the smaller tokens.
bool lock_machine::is_next(const grant& g) const noexcept {
  if (g.is_repeated) return false;
  if (tokens_ != tokens::growing) return true;
  if (all_.granted_exclusive != g.smaller_exclusive) return false;
  return !g.how.is_exclusive() || all_.granted == g.smaller;
}

bool lock_machine::has_room(const mode& how) const noexcept {
  if (all_.holders == 0) return true;
  if (how.is_exclusive() || !(all_.how == how)) return false;
  return how.is_shared() || all_.holders < how.limit();
}

void lock_machine::end(grant& g) noexcept {
  if (g.now == phase::held) --all_.holders;
  g.now = phase::over;
}

bool lock_machine::apply(const step& s) {
  auto& g = grants_[s.grant];
  const memory before{s.grant, g.now, g.proofs_left, all_};
  if (s.what == effect::grant) {
    if (g.now != phase::awaited || !is_next(g) || !has_room(g.how)) return false;
    g.now = phase::held;
    ++all_.granted;
    if (g.how.is_exclusive()) ++all_.granted_exclusive;
    ++all_.holders;
    all_.how = g.how;
    if (g.proofs_left == 0) end(g);
  } else if (s.what == effect::loss) {
    end(g);
  } else {
    if (g.now != phase::held) return false;
    --g.proofs_left;
    if (g.proofs_left == 0 || s.what == effect::give_back) end(g);
  }
  done_.push_back(before);
  return true;
}

void lock_machine::undo() {
  const memory& before = done_.back();
  auto& g = grants_[before.which];
  g.now = before.was;
  g.proofs_left = before.proofs_left;
  all_ = before.all;
  done_.pop_back();
}

bool lock_machine::is_harmless(const step& s) const {
  const auto& g = grants_[s.grant];
  switch (s.what) {
    // A proof asks that it is held, which it is, and takes nothing from others: the sooner it is
    // the last one, the sooner there is room.
    case effect::proof:
      return true;
    case effect::give_back:
      // Earlier it would end the grant under the proofs that are still to come.
      return g.proofs_left == 1;
    case effect::loss:
      return g.now == phase::over;
    default:
      return false;
  }
}

}  // namespace holdfast::history
