#include <holdfast/fence.hpp>

#include "core/rounds_fixture.hpp"
#include "core/splitmix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <string>
#include <utility>
#include <vector>

/// Random sequences of everything that one thread can do with a fence, against a model that keeps
/// all that ever happened and asks it the rules of the table in holdfast/fence.hpp, word by word.

namespace holdfast {
namespace {

const token_source source{store_identity("local/0f"), lock_name("nightly")};

struct event {
  std::uint64_t value{};
  bool shared{};
};

struct held_pass {
  std::uint64_t number{};
  event what{};
  bool valid{true};
  int commits{};
  pass real;
};

using held_passes = std::list<held_pass>;

class scene {
 public:
  scene(std::uint64_t seed, older_passes policy) : random_(seed), policy_(policy), real_(policy) {}

  std::string play(int steps) {
    for (int i = 0; i < steps && wrong_.empty(); ++i) step();
    return wrong_;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return core::splitmix(random_) % n; }

  void step() {
    const event e{1 + below(12), below(3) == 0};
    switch (below(8)) {
      case 0:
        return raise(e.value);
      case 1:
      case 2:
        return admit(e);
      case 3:
        return commit();
      case 4:
        return end();
      default:
        return enter(e);
    }
  }

  // The model: who has arrived, and who holds a pass.
  bool stale(const event& e) const {
    return std::ranges::any_of(
        arrived_, [&](const event& a) { return a.value > e.value && (!e.shared || !a.shared); });
  }
  bool in_the_way(const held_pass& p, const event& e) const {
    return p.what.value < e.value && !(p.what.shared && e.shared);
  }
  errc arrive(const event& e) {
    arrived_.push_back(e);
    bool waits = false;
    for (auto& p : passes_) {
      if (!in_the_way(p, e)) continue;
      if (policy_ == older_passes::invalidate) p.valid = false;
      if (policy_ == older_passes::wait || p.commits > 0) waits = true;
    }
    return waits ? errc::timed_out : errc{};
  }

  void expect(const std::string& what, errc model, errc seen) {
    trace_ += what + "; ";
    if (model == seen) return;
    const auto name = [](errc e) { return e == errc{} ? "ok" : name_of(e); };
    wrong_ = trace_ + "the model says " + name(model) + ", the fence " + name(seen);
  }
  static errc code(const auto& r) { return r ? errc{} : r.error().code(); }
  static std::string text(const event& e) {
    return std::to_string(e.value) + (e.shared ? " shared" : "");
  }

  void enter(const event& e) {
    const errc model = stale(e) ? errc::stale_token : arrive(e);
    auto p = real_.enter({source, token{e.value}}, e.shared ? mode::shared() : mode::exclusive(),
                         {.wait = duration::zero()});
    expect("enter " + text(e), model, code(p));
    if (p) passes_.push_back({++entered_, e, true, 0, std::move(*p)});
  }
  void admit(const event& e) {
    errc model = stale(e) ? errc::stale_token : arrive(e);
    if (model == errc::timed_out) model = errc::busy;
    const auto how = e.shared ? mode::shared() : mode::exclusive();
    expect("admit " + text(e), model, code(real_.admit({source, token{e.value}}, how)));
  }
  void raise(std::uint64_t value) {
    const errc model = arrive({value, false});
    expect("raise " + std::to_string(value), model,
           code(real_.raise(token{value}, {.wait = duration::zero()})));
  }
  held_passes::iterator any_pass() {
    return std::next(passes_.begin(), static_cast<std::ptrdiff_t>(below(passes_.size())));
  }
  // Something may happen inside it: the pass commits again, or ends, and others come.
  void commit() {
    if (passes_.empty()) return;
    const auto at = any_pass();
    const auto is_there = [this, number = at->number] {
      return std::ranges::find(passes_, number, &held_pass::number) != passes_.end();
    };
    const event what = at->what;
    const bool valid = at->valid;
    bool ran = false;
    bool ended = false;
    const auto done = at->real.commit([&] {
      ran = true;
      trace_ += "begin " + text(what) + "; ";
      ++at->commits;
      for (auto n = below(3); n > 0 && wrong_.empty() && !ended; --n) {
        step();
        ended = !is_there();
      }
      if (!ended) --at->commits;
    });
    expect("commit " + text(what), valid ? errc{} : errc::stale_token, code(done));
    if (ran != valid || (!ended && at->real.valid() != at->valid)) {
      wrong_ = trace_ + "ran against its validity";
    }
  }
  void end() {
    if (passes_.empty()) return;
    const auto at = any_pass();
    trace_ += "end " + text(at->what) + "; ";
    passes_.erase(at);
  }

  std::uint64_t random_;
  older_passes policy_;
  fence real_;
  std::vector<event> arrived_;
  held_passes passes_;
  std::uint64_t entered_{};
  std::string trace_;
  std::string wrong_;
};

TEST(fence_model, every_sequence_ends_as_the_model_says) {
  const int sequences = core::shortened(core::rounds(10'000, 1'000'000));
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(sequences); ++seed) {
    const auto policy = seed % 2 == 0 ? older_passes::wait : older_passes::invalidate;
    const auto wrong = scene(seed, policy).play(24);
    ASSERT_TRUE(wrong.empty()) << "seed " << seed << ": " << wrong;
  }
}

}  // namespace
}  // namespace holdfast
