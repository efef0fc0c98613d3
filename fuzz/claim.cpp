// Any order of answers, notifications, ticks and ends. See the MUSTs for what may never happen.
#include "core/claim.hpp"

#include "fuzz/target.hpp"

#include <set>
#include <utility>

namespace {

using namespace holdfast;
using namespace holdfast::core;

constexpr token ours{100};

class run {
 public:
  explicit run(fuzz::bytes in) : in_(in), claim_(choose(), own_) {}

  void all() {
    follow(claim_.start(now_));
    while (!in_.empty()) {
      now_ += std::chrono::milliseconds{50} * (in_.next() % 64);
      own_.expire(now_);
      const std::uint8_t what = in_.next();
      if (what % 4 == 0 || claim_.at_rest() || claim_.finished()) {
        interject(what / 4);
      } else {
        reply();
      }
    }
  }

 private:
  claim::config choose() {
    claim::config c;
    const std::uint8_t bits = in_.next();
    c.waits = bits % 2 == 1;
    c.seed = bits;
    if (bits % 4 == 3) c.give_up = now_ + std::chrono::seconds{in_.next()};
    return c;
  }

  void interject(std::uint8_t what) {
    const bool resting = claim_.at_rest();
    const bool over = claim_.finished();
    const bool due = resting && claim_.wake() <= now_;
    action a = act::rest{};
    switch (what % 16) {
      case 0:
        a = claim_.cancel();
        break;
      case 1:
        session_over_ = true;
        a = claim_.session_over(errc::lost, "over");
        break;
      case 2:
      case 3:
        a = claim_.notified(now_);
        break;
      default:
        a = claim_.tick(now_);
        // A driver that ticks when it is told to, and is told the same time again, would spin.
        MUST(!due || !std::holds_alternative<act::rest>(a));
    }
    const bool idle = std::holds_alternative<act::rest>(a);
    if (over || !resting) MUST(idle);
    if (!idle) follow(a);
  }

  status any(std::initializer_list<status> those) {
    return *(those.begin() + in_.next() % those.size());
  }

  queue_view view(status what) {
    queue_view v;
    v.what = what;
    if (what == status::ok || what == status::queued) v.mine = ours;
    if (what == status::ok && in_.next() % 2 == 0) {
      v.own = std::make_shared<lease>(now_ + std::chrono::seconds{in_.next() % 3});
    }
    if (what != status::queued && what != status::busy) return v;
    const std::uint8_t bits = in_.next();
    for (std::uint8_t n = 0; n <= bits % 4; ++n) {
      rival r{};
      r.order = token{n + 1U};
      r.owner.bytes[0] = static_cast<std::uint8_t>(n + bits / 64);
      r.at = {.inc = 1, .beat = bits % 16U};
      r.ttl = std::chrono::seconds{bits % 8 + 1};
      shown_.insert({r.owner, r.at.beat});
      v.ahead.push_back(r);
    }
    if (what == status::queued) v.targets.push_back(v.ahead.back().order);
    return v;
  }

  /// Answers the one operation that is under way.
  void reply() {
    const action asked = std::exchange(asked_, act::rest{});
    if (std::holds_alternative<act::enqueue>(asked)) return answer_enqueue();
    if (std::holds_alternative<act::confirm>(asked)) return answer_confirm();
    if (std::holds_alternative<act::leave>(asked)) return answer_leave();
    if (const auto* t = std::get_if<act::take>(&asked)) {
      take_reply r;
      r.what =
          any({status::ok, status::gone, status::changed, status::unavailable, status::unknown});
      r.at = {.inc = 1, .beat = in_.next()};
      if (r.what == status::changed) shown_.insert({t->id, r.at.beat});
      return follow(claim_.taken(t->id, r, now_));
    }
    const auto& whom = std::get<act::probe>(asked).whom;
    std::vector<session_id> dead;
    for (const rival& r : whom) {
      if (in_.next() % 4 == 0) dead.push_back(r.owner);
    }
    follow(claim_.probed(dead, now_));
  }

  void answer_enqueue() {
    const auto what =
        any({status::ok, waits() ? status::queued : status::busy, status::gone, status::denied,
             status::stale_gate, status::conflicting, status::too_many, status::unavailable,
             status::unknown, status::damaged});
    entry_ = what == status::ok || what == status::queued || what == status::unknown;
    follow(claim_.enqueued(view(what), now_));
  }

  void answer_confirm() {
    const auto what = any({status::ok, status::queued, status::gone, status::denied,
                           status::unavailable, status::unknown});
    if (what == status::gone) entry_ = false;
    follow(claim_.confirmed(view(what), now_));
  }

  void answer_leave() {
    leave_reply r;
    r.what = any({status::ok, status::gone, status::unavailable, status::unknown});
    if (r.what == status::ok || r.what == status::gone) entry_ = false;
    follow(claim_.left(r, now_));
  }

  bool waits() const { return waits_; }

  void follow(const action& a) {
    MUST(std::holds_alternative<act::rest>(asked_));  // Never two operations at a time.
    MUST(!finished_);
    if (const auto* f = std::get_if<act::finish>(&a)) return finish(*f);
    if (std::holds_alternative<act::rest>(a) || std::holds_alternative<act::watch>(a)) {
      MUST(claim_.at_rest());
      return;
    }
    MUST(!claim_.at_rest() && !claim_.finished());
    if (const auto* e = std::get_if<act::enqueue>(&a)) {
      MUST(!entry_);
      waits_ = !e->leave_if_busy;
    }
    if (std::holds_alternative<act::leave>(a)) MUST(entry_);
    if (const auto* t = std::get_if<act::take>(&a)) MUST(shown_.contains({t->id, t->seen.beat}));
    asked_ = a;
  }

  void finish(const act::finish& f) {
    finished_ = true;
    MUST(claim_.finished());
    if (f.granted) {
      MUST(f.held == ours && entry_ && !own_.is_lost());
      MUST(!f.own || f.own->check(duration::zero(), now_));
    } else {
      MUST(!f.text.empty());
      MUST(!entry_ || claim_.owes_leave() || session_over_);
    }
  }

  fuzz::bytes in_;
  time_point now_{std::chrono::hours{1}};
  lease own_{now_ + std::chrono::minutes{1}};
  claim claim_;
  action asked_{act::rest{}};
  std::set<std::pair<session_id, std::uint64_t>> shown_;
  bool waits_{};
  bool entry_{};  ///< May be in the store.
  bool session_over_{};
  bool finished_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run(fuzz::bytes(data, size)).all();
  return 0;
}
