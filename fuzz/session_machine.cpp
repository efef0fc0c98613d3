// Any order of ticks, answers and ends: a lease is never longer than what a proven send allows.
#include "core/session_machine.hpp"

#include "fuzz/target.hpp"

#include <map>
#include <utility>

namespace {

using namespace holdfast;
using namespace holdfast::core;

constexpr duration ttl = std::chrono::seconds{30};

class run {
 public:
  explicit run(fuzz::bytes in) : in_(in) {}

  void all() {
    const time_point sent = now_;
    advance();
    limit_ = sent + usable(ttl);
    follow(machine_.opened(sent, now_), true);
    while (!in_.empty()) event();
  }

 private:
  void advance() { now_ += ttl * in_.next() / 200; }

  void event() {
    advance();
    switch (in_.next() % 8) {
      case 0:
        return close();
      case 1:
        return follow(machine_.ended_by_engine(status::gone), false);
      case 2:
      case 3:
      case 4:
        return follow(machine_.tick(now_), true);
      default:
        return answer();
    }
  }

  /// What an operator denied is removed by its owner's close, once.
  void close() {
    const bool removes = ended_ && std::exchange(keeps_record_, false);
    follow(machine_.close(now_), false, removes);
  }

  void answer() {
    beat_reply r;
    const std::uint8_t what = in_.next() % 16;
    r.what = what == 0   ? status::denied
             : what == 1 ? status::gone
             : what < 5  ? status::unknown
                         : status::ok;
    const std::uint64_t attempt = in_.next() % (attempts_ + 2);
    r.proves = what < 10 ? attempt : in_.next() % (attempts_ + 2);
    const auto sent = sent_.find(r.proves);
    if (r.what == status::ok && sent != sent_.end()) {
      limit_ = std::max(limit_, sent->second + usable(ttl));
    }
    follow(machine_.beat_answered(attempt, r, now_), false);
  }

  void follow(const session_machine::step& s, bool ticked, bool removes = false) {
    MUST(own_.is_lost() || own_.until() <= limit_);
    if (ended_) MUST(own_.is_lost() && !s.beat && !s.changed && s.remove_record == removes);
    if (s.beat) {
      MUST(*s.beat == ++attempts_);
      sent_[attempts_] = now_;
    }
    if (s.changed) {
      MUST(s.changed->to != state_);
      state_ = s.changed->to;
      keeps_record_ = state_ == session_state::denied;
      if (keeps_record_) MUST(!s.remove_record);
    }
    MUST(state_ == machine_.state());
    ended_ = machine_.is_final();
    if (ended_) {
      MUST(own_.is_lost() && s.wake == time_point::max());
    } else {
      MUST(!own_.is_lost() || !ticked);
      MUST(s.wake > now_ || !ticked);
    }
  }

  fuzz::bytes in_;
  time_point now_{std::chrono::hours{1}};
  time_point limit_{};
  lease own_;
  session_machine machine_{ttl, own_};
  session_state state_{session_state::attached};
  std::uint64_t attempts_{};
  std::map<std::uint64_t, time_point> sent_;
  bool ended_{};
  bool keeps_record_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run(fuzz::bytes(data, size)).all();
  return 0;
}
