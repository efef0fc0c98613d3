// Any order of answers, raises and ticks: held means what a majority of the nodes really promised.
#include "core/redlock/attempt.hpp"

#include "core/lease.hpp"
#include "fuzz/target.hpp"

#include <algorithm>
#include <array>

namespace {

using namespace holdfast;
using namespace holdfast::core;
using namespace holdfast::core::redlock;

constexpr duration ttl = std::chrono::seconds{10};
constexpr duration timeout = std::chrono::milliseconds{50};

class run {
 public:
  explicit run(fuzz::bytes in) : in_(in) {}

  void all() {
    for_each(asked_, [&](node_index i) { machine_.carried(i, 1, 1); });
    follow(machine_.start(now_));
    while (!in_.empty()) event();
    // Whatever was lost, the timeout ends it, or the one of a raise that was begun late.
    now_ += 2 * timeout;
    follow(machine_.tick(now_));
    MUST(machine_.decided());
  }

 private:
  /// What a node did, as it would say it.
  struct node {
    bool told{};
    bool grants{};
    bool takes{};
    std::uint64_t at{};  ///< Its counter for this lock, once it granted.
    bool lost{};         ///< A raise did not happen there.
  };

  void event() {
    // Mostly a few milliseconds; rarely longer than the ttl.
    const std::uint8_t pause = in_.next();
    now_ += pause < 250 ? timeout * pause / 1'000 : ttl;
    const auto i = static_cast<node_index>(in_.next() % nodes_);
    switch (in_.next() % 8) {
      case 0:
        return follow(machine_.tick(now_));
      case 1:
        return in_.next() < 32 ? follow(machine_.cancel()) : follow(machine_.tick(now_));
      case 2:
      case 3:
      case 4:
        return raised(i);
      default:
        return answered(i);
    }
  }

  void answered(node_index i) {
    node& n = all_[i];
    const bool counts = asked_.has(i) && !n.told;
    const std::uint8_t how = in_.next() % 8;
    node_vote v = node_vote::of(how == 0   ? fault::silent
                                : how == 1 ? fault::denied
                                           : fault::epoch_moved,
                                in_.next());
    if (how == 3) v = node_vote::taken();
    // Zero is no token: such an answer is none.
    if (how > 3) v = node_vote::granted(in_.next() % 6);
    if (counts) {
      n.told = true;
      n.takes = how == 3;
      n.grants = how > 3 && (!tokens_ || v.counter > 0);
      n.at = n.grants ? v.counter : 0;
    }
    follow(machine_.answered(i, v, now_));
  }

  void raised(node_index i) {
    node& n = all_[i];
    const token to = in_.next() % 8 == 0 ? token{in_.next() % 8U} : machine_.chosen();
    const bool done = in_.next() % 4 != 0;
    if (raising_.has(i) && to == machine_.chosen()) {
      raising_.remove(i);
      if (done) n.at = std::max(n.at, to.value);
      n.lost = n.lost || !done;
    }
    follow(
        machine_.raised(i, to, done ? node_vote::granted() : node_vote::of(fault::silent), now_));
  }

  void follow(const attempt::step& s) {
    MUST(!s.decided || !decided_);
    MUST(s.release.empty() || s.decided);
    for_each(s.raise,
             [&](node_index i) { MUST(all_[i].grants && all_[i].at < machine_.chosen().value); });
    if (!s.raise.empty()) raising_ = token_ == machine_.chosen() ? raising_ | s.raise : s.raise;
    token_ = machine_.chosen();
    decided_ = decided_ || s.decided;
    MUST(decided_ == machine_.decided());
    if (!s.decided) return;
    if (machine_.current() == attempt::state::held) return judge();
    node_set might;
    for_each(asked_, [&](node_index i) {
      if (!all_[i].takes) might.add(i);
    });
    MUST(s.release == might);
  }

  /// Of all configured nodes, so many gave it and are not below the token that two such grants
  /// share one; and it is over before any of them forgets it.
  void judge() const {
    std::size_t sure = 0;
    for (const node& n : all_) {
      const bool equal = !tokens_ || n.at == machine_.chosen().value;
      if (n.grants && !n.lost && equal) ++sure;
    }
    MUST(2 * sure > nodes_);
    MUST(machine_.until() <= sent_ + usable(ttl));
    MUST(now_ < machine_.until());
    MUST(tokens_ ? machine_.chosen().value > 0 : machine_.chosen().value == 0);
  }

  node_set subset() {
    node_set s = node_set::all(nodes_);
    const std::uint8_t without = in_.next();
    for (node_index i = 0; i < nodes_; ++i) {
      if (without % 4 == 0 && (without >> (i + 2) & 1U) != 0) s.remove(i);
    }
    return s;
  }

  fuzz::bytes in_;
  const std::size_t nodes_{1 + in_.next() % 7U};
  const bool tokens_{in_.next() % 2 == 0};
  const node_set asked_{subset()};
  const time_point sent_{std::chrono::hours{1}};
  time_point now_{sent_};
  attempt machine_{
      {.nodes = nodes_, .ttl = ttl, .timeout = timeout, .tokens = tokens_}, asked_, sent_};
  std::array<node, 7> all_{};
  node_set raising_;
  token token_{};
  bool decided_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run(fuzz::bytes(data, size)).all();
  return 0;
}
