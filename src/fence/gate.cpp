#include "fence/gate.hpp"

#include "io/process/fork_mark.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/lock_name.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

/// The rule is in gate_machine; here are the waiting, and what other processes see by the keeper.
/// Floors are raised when a token arrives and not when it is admitted: from then on no older pass
/// begins, whatever becomes of the newer one.

namespace holdfast::fencing {

namespace {

using namespace std::chrono_literals;

// Other processes cannot wake us.
constexpr duration look_again = 1ms;
constexpr duration longest_sleep = 1h;

time_point end_of(duration wait) {
  const auto now = clock::now();
  if (wait >= time_point::max() - now) return time_point::max();
  return now + std::max(wait, duration::zero());
}

std::uint64_t word_at(const char* text) noexcept {
  std::uint64_t word{};
  std::memcpy(&word, text, sizeof word);
  return word;
}

// Word by word, the last one overlapping: a call of memcmp(3) takes longer than all of this.
bool same(const std::string& a, const std::string& b) noexcept {
  constexpr std::size_t step = sizeof(std::uint64_t);
  const std::size_t size = a.size();
  if (size != b.size()) return false;
  if (size < step) return a == b;
  std::uint64_t differ = word_at(&a[size - step]) ^ word_at(&b[size - step]);
  for (std::size_t i = 0; i + step < size; i += step) differ |= word_at(&a[i]) ^ word_at(&b[i]);
  return differ == 0;
}

std::string number(token t) { return std::to_string(t.value); }

error other_source(const token_source& bound, const token_source& given) {
  return {errc::invalid_argument,
          "a token of " + given.printable() + " came to the fence of " + bound.printable() +
              ": tokens of different locks or stores cannot be compared; "
              "give each its own fence (in a floor file: another resource)"};
}

error of_another_process() {
  return {errc::lost,
          "this fence was made before a fork and belongs to the parent process; make another one"};
}

}  // namespace

/// However an arrival ends, also by an exception: others see that we have passes only if we have.
struct gate::no_claim_left {
  gate& at;
  sharing how;
  ~no_claim_left() {
    if (at.keeper_ && at.passes_.count(how) == 0) at.keeper_->ended(how);
  }
};

gate::gate(std::optional<token_source> from, older_passes policy,
           std::unique_ptr<floor_keeper> keeper)
    : passes_(policy), keeper_(std::move(keeper)), process_(io::process_generation()) {
  if (from) bind(*from);
}

void gate::know(const floor_record& r) {
  const io::held_mutex hold(mutex_);
  learn(r.now);
  if (r.from) bind(*r.from);
}

void gate::bind(const token_source& from) {
  if (from_) return;
  from_ = std::make_unique<const token_source>(from);
  bound_.store(from_.get(), std::memory_order_release);
}

std::optional<token_source> gate::source() const {
  const auto* from = bound_.load(std::memory_order_acquire);
  return from != nullptr ? std::optional(*from) : std::nullopt;
}

// The newest first: whoever sees the floor sees a newest that is not below it.
void gate::learn(const floors& f) noexcept {
  const floors next = now().merged(f);
  newest_.store(next.newest.value, std::memory_order_seq_cst);
  floor_.store(next.floor.value, std::memory_order_seq_cst);
}

// Settled is read before the floors: what is settled stays so, and the floors only grow, so the
// token was admissible at the moment of the second load.
bool gate::is_admitted(const fencing_token& t, sharing how) const noexcept {
  const auto* from = bound_.load(std::memory_order_acquire);
  if (from == nullptr || !same(t.from.lock.str(), from->lock.str()) ||
      !same(t.from.store.str(), from->store.str())) {
    return false;
  }
  if (how == sharing::exclusive) {
    return settled_exclusive_.load(std::memory_order_acquire) == t.value.value &&
           newest_.load(std::memory_order_seq_cst) == t.value.value;
  }
  return settled_shared_.load(std::memory_order_acquire) >= t.value.value &&
         floor_.load(std::memory_order_seq_cst) <= t.value.value && t.value.value != 0;
}

result<void> gate::check(const fencing_token& t) const {
  if (auto good = t.check(); !good) return good;
  if (!from_ || *from_ == t.from) return {};
  return other_source(*from_, t.from);
}

result<void> gate::judge(const arrival& a) const {
  const floors f = now();
  if (a.raises || !f.is_stale(a.value, a.how)) return {};
  const token above = a.how == sharing::exclusive ? f.newest : f.floor;
  return error(errc::stale_token, "token " + number(a.value) +
                                      " is stale: the storage has admitted " + number(above) +
                                      ", or was told to refuse what is below it; this writer was "
                                      "replaced and must stop");
}

result<void> gate::arrive(const fencing_token& t, const arrival& a) {
  if (!keeper_) {
    if (auto fresh = judge(a); !fresh) return fresh;
    bind(t.from);
    learn(now().with(t.value, a.how));
  } else {
    const auto kept = keeper_->update([&](const floor_record& r) -> result<floor_record> {
      mutex_.held_by_caller();
      if (r.from && *r.from != t.from) return other_source(*r.from, t.from);
      learn(r.now);
      if (auto fresh = judge(a); !fresh) return fresh.error();
      return floor_record{r.now.with(t.value, a.how), t.from};
    });
    if (!kept) return kept.error();
    bind(t.from);
    learn(kept->now);
  }
  passes_.arrived(t.value, a.how);
  changed_.notify_all();
  return {};
}

result<pass> gate::enter(const fencing_token& t, mode how, const enter_options& options) {
  const sharing s = sharing_of(how);
  if (is_inherited()) return of_another_process();
  const io::held_mutex hold(mutex_);
  if (auto good = check(t); !good) return good.error();
  const arrival a{t.value, s};
  if (auto arrived = arrive(t, a); !arrived) return arrived.error();
  const no_claim_left at_the_end{*this, s};
  if (auto alone = wait_for_older(a, options); !alone) return alone.error();
  settled(t.value, s);
  return pass(shared_from_this(), passes_.open(t.value, s), t.value);
}

void gate::settled(token t, sharing how) noexcept {
  auto& known = how == sharing::exclusive ? settled_exclusive_ : settled_shared_;
  if (known.load(std::memory_order_relaxed) < t.value) {
    known.store(t.value, std::memory_order_release);
  }
}

result<void> gate::admit(const fencing_token& t, mode how) {
  auto entered = enter(t, how, {.wait = duration::zero()});
  if (entered) return {};
  if (entered.error() != errc::timed_out) return entered.error();
  return error(errc::busy, entered.error().message());
}

result<void> gate::raise(token to, const std::optional<token_source>& from,
                         const enter_options& options) {
  if (to.value == 0 || to > token_max) {
    return error(errc::invalid_argument, "a floor is from 1 to 2^53 - 1, and not " + number(to));
  }
  if (is_inherited()) return of_another_process();
  const io::held_mutex hold(mutex_);
  if (from) {
    if (auto good = check({*from, to}); !good) return good;
  }
  if (keeper_) {
    const auto kept = keeper_->update([&](const floor_record& r) -> result<floor_record> {
      if (from && r.from && *r.from != *from) return other_source(*r.from, *from);
      return floor_record{r.now.with(to, sharing::exclusive), r.from ? r.from : from};
    });
    if (!kept) return kept.error();
    learn(kept->now);
  } else {
    learn(now().with(to, sharing::exclusive));
  }
  if (from) bind(*from);
  passes_.arrived(to, sharing::exclusive);
  changed_.notify_all();
  const no_claim_left at_the_end{*this, sharing::exclusive};
  return wait_for_older({to, sharing::exclusive, true}, options);
}

// True when no older pass is left and, with a keeper, other processes see that we have one.
result<bool> gate::older_ended(const arrival& a) {
  if (passes_.must_wait(a.value, a.how)) return false;
  if (!keeper_) return true;
  const bool exclusive = a.how == sharing::exclusive;
  auto ended =
      keeper_->others_ended(a.value, a.how,
                            {.exclusive = exclusive || passes_.count(sharing::exclusive) > 0,
                             .shared = !exclusive || passes_.count(sharing::shared) > 0});
  if (!ended || !*ended) return ended;
  // Only now a newer one would wait for us: it may have been admitted before.
  const auto kept = keeper_->read();
  if (kept) learn(kept->now);
  if (kept && judge(a)) {
    if (exclusive) keeper_->settled(a.value);
    return true;
  }
  if (passes_.count(a.how) == 0) keeper_->ended(a.how);
  return kept ? result<bool>(false) : kept.error();
}

// True when it is worth to look again.
bool gate::pause(const arrival& a, time_point until, std::stop_token stop) {
  const auto now_is = clock::now();
  if (now_is >= until || stop.stop_requested()) return false;
  const bool elsewhere = !passes_.must_wait(a.value, a.how);
  const auto wake = std::min(until, now_is + (elsewhere ? look_again : longest_sleep));
  changed_.wait_until(mutex_, std::move(stop), wake, [&] {
    mutex_.held_by_caller();
    return (!elsewhere && !passes_.must_wait(a.value, a.how)) || !judge(a);
  });
  return true;
}

/// As far as it can be told: others are seen to have passes, and not of which tokens.
std::string gate::in_the_way(const arrival& a) const {
  const std::string older = "passes of tokens older than " + number(a.value);
  if (passes_.must_wait(a.value, a.how)) return older + " are still under way";
  if (a.raises) return "somebody else has " + older + ", or of newer ones";
  return "somebody else has " + older + ", or came with " + number(a.value) + " at the same moment";
}

/// What to do about it.
std::string gate::way_out(const arrival& a) const {
  const std::string file = keeper_ ? keeper_->where() : std::string();
  if (file.empty()) return {};
  const bool may_have_met = !a.raises && !passes_.must_wait(a.value, a.how);
  return std::string(may_have_met ? ". Ask again; if that does not help, end" : ". End") +
         " the process that has them, or let it go on if it is stopped: fuser -v " +
         lock_name(file).printable() + " shows who has the fence open";
}

result<void> gate::wait_for_older(const arrival& a, const enter_options& options) {
  const time_point until = end_of(options.wait);
  for (;;) {
    auto ended = older_ended(a);
    if (!ended) return ended.error();
    if (auto fresh = judge(a); !fresh) return fresh;
    if (*ended) return {};
    if (pause(a, until, options.stop)) continue;
    const bool cancelled = options.stop.stop_requested();
    std::string when;
    if (options.wait > duration::zero()) when = "after " + print_duration(options.wait) + " ";
    if (cancelled) when = "the wait was cancelled: ";
    return error(cancelled ? errc::cancelled : errc::timed_out,
                 when + in_the_way(a) +
                     "; nothing may be written yet, and older tokens are refused from now on" +
                     way_out(a));
  }
}

bool gate::is_inherited() const noexcept { return io::process_generation() != process_; }

void gate::close(std::uint64_t id) noexcept {
  if (is_inherited()) return;
  const io::held_mutex hold(mutex_);
  passes_.close(id);
  if (keeper_) {
    for (const auto how : {sharing::exclusive, sharing::shared}) {
      if (passes_.count(how) == 0) keeper_->ended(how);
    }
  }
  changed_.notify_all();
}

bool gate::valid(std::uint64_t id) const noexcept {
  if (is_inherited()) return false;
  const io::held_mutex hold(mutex_);
  return passes_.valid(id);
}

result<void> gate::begin_commit(std::uint64_t id, token value) {
  // The parent's pass may have ended since, and a newer writer may be under way.
  if (is_inherited()) return of_another_process();
  const io::held_mutex hold(mutex_);
  if (passes_.begin_commit(id)) return {};
  return error(errc::stale_token, "a newer token has invalidated the pass of token " +
                                      number(value) + "; nothing was committed");
}

void gate::end_commit(std::uint64_t id) noexcept {
  if (is_inherited()) return;
  const io::held_mutex hold(mutex_);
  passes_.end_commit(id);
  changed_.notify_all();
}

}  // namespace holdfast::fencing
