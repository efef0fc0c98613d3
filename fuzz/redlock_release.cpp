// Any order of answers, failures and reconnects: a release is owed until the key certainly is not
// there and cannot come, or is over by itself.
#include "core/redlock/owed_release.hpp"

#include "fuzz/target.hpp"

#include <array>

namespace {

using namespace holdfast;
using namespace holdfast::core::redlock;

constexpr duration ttl = std::chrono::seconds{10};
constexpr duration timeout = std::chrono::milliseconds{50};

class run {
 public:
  explicit run(fuzz::bytes in) : in_(in) {}

  void all() {
    owed_ = node_set::all(nodes_);
    for (node_index i = 0; i < nodes_; ++i) {
      settled_before_[i] = in_.next() % 4 == 0;
      machine_.trace_of(i, {.connection = connection_[i], .settled_before = settled_before_[i]});
      if (in_.next() % 4 != 0) up_.add(i);
    }
    follow(machine_.start(up_, now_));
    while (!in_.empty()) event();
    now_ = sent_ + ttl;
    follow(machine_.tick(now_));
    MUST(finished_ && machine_.result() != owed_release::outcome::pending);
  }

 private:
  void event() {
    now_ += timeout * in_.next() / 20;
    const auto i = static_cast<node_index>(in_.next() % nodes_);
    switch (in_.next() % 7) {
      case 0:
        return follow(machine_.tick(now_), true);
      case 1:
        up_.remove(i);
        sent_to_.remove(i);
        return follow(machine_.disconnected(i, now_));
      case 2:
        if (up_.has(i)) return;
        up_.add(i);
        ++connection_[i];
        return follow(machine_.connected(i, now_));
      case 3:
        if (!sent_to_.has(i)) return;
        sent_to_.remove(i);
        return follow(machine_.failed(i, now_));
      case 4:
        return refused(i);
      default:
        return answered(i);
    }
  }

  void refused(node_index i) {
    if (!sent_to_.has(i)) return;
    sent_to_.remove(i);
    const bool again = owed_.has(i) && up_.has(i) && now_ < sent_ + ttl;
    follow(machine_.refused(i, now_));
    // At once, unlike after a failure.
    MUST(sent_to_.has(i) == again);
  }

  void answered(node_index i) {
    if (!sent_to_.has(i)) return;
    sent_to_.remove(i);
    const bool deleted = in_.next() % 2 == 0;
    // On another connection the acquire may still stand in an old one that the node reads later.
    if (deleted || settled_before_[i] || connection_[i] == 1) owed_.remove(i);
    follow(machine_.answered(i, deleted, connection_[i], now_));
  }

  void follow(const owed_release::step& s, bool ticked = false) {
    const bool over = now_ >= sent_ + ttl;
    MUST(machine_.owed() == owed_);
    MUST((s.send - owed_).empty() && (s.send - up_).empty() && (s.send & sent_to_).empty());
    MUST(s.send.empty() || !finished_);
    sent_to_ = sent_to_ | s.send;
    MUST(!s.finished || !finished_);
    finished_ = finished_ || s.finished;
    MUST(finished_ == (owed_.empty() || over));
    if (finished_) return;
    // It is woken for all that nobody answers.
    MUST(!ticked || s.wake > now_);
    MUST(s.wake <= sent_ + ttl);
  }

  fuzz::bytes in_;
  const std::size_t nodes_{1 + in_.next() % 7U};
  const time_point sent_{std::chrono::hours{1}};
  time_point now_{sent_};
  owed_release machine_{
      {.ttl = ttl, .timeout = timeout, .seed = in_.next()}, node_set::all(nodes_), sent_};
  std::array<std::uint64_t, 7> connection_{1, 1, 1, 1, 1, 1, 1};
  std::array<bool, 7> settled_before_{};
  node_set owed_;
  node_set up_;
  node_set sent_to_;
  bool finished_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run(fuzz::bytes(data, size)).all();
  return 0;
}
