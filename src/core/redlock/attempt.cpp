#include "core/redlock/attempt.hpp"

#include "core/assert.hpp"
#include "core/lease.hpp"
#include "core/listed.hpp"
#include "core/redlock/node_record.hpp"
#include "core/redlock/rules.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <vector>

namespace holdfast::core::redlock {

namespace {

/// What each node did, with all that did the same named together, by the first of them.
class said_of_nodes {
 public:
  explicit said_of_nodes(std::span<const std::string> addresses) : addresses_(addresses) {}

  void add(node_index i, std::string_view what) {
    auto at = std::ranges::find(all_, what, &said::what);
    if (at == all_.end()) at = all_.insert(all_.end(), {what, {}});
    at->names.push_back(i < addresses_.size() ? addresses_[i] : "node " + std::to_string(i + 1));
  }
  std::string text() const {
    std::string all;
    for (const auto& [what, names] : all_) {
      all.append("; ").append(listed(names)).append(names.size() > 1 ? " each " : " ").append(what);
    }
    return all;
  }

 private:
  struct said {
    std::string_view what;
    std::vector<std::string> names;
  };
  std::span<const std::string> addresses_;
  std::vector<said> all_;
};

}  // namespace

attempt::attempt(config c, node_set asked, time_point sent)
    : config_(c), sent_(sent), counts_from_(sent), limit_(sent + c.timeout), asked_(asked) {
  HOLDFAST_ASSERT(c.nodes > 0 && c.nodes <= nodes_max);
  HOLDFAST_ASSERT((asked - node_set::all(c.nodes)).empty());
  HOLDFAST_ASSERT(c.timeout > duration::zero() && c.timeout < usable(c.ttl));
  for_each(node_set::all(c.nodes) - asked,
           [&](node_index i) { votes_[i] = node_vote::of(fault::not_asked); });
}

std::size_t attempt::needed() const noexcept {
  return majority(active.majority_of_configured ? config_.nodes
                                                : std::max<std::size_t>(asked_.size(), 1));
}

time_point attempt::until() const noexcept { return counts_from_ + usable(config_.ttl); }

attempt::step attempt::start(time_point now) { return decide(now); }

void attempt::carried(node_index i, std::uint64_t judged, std::uint64_t by) {
  carriers_[i] = by;
  as_judged_.remove(i);
  if (by != 0 && by == judged) as_judged_.add(i);
}

node_vote attempt::counted(node_index i, const node_vote& v) const noexcept {
  if (v.what != vote::granted) return v;
  const bool judged = as_judged_.has(i) || !active.judged_connection_only;
  if (!judged) return node_vote::of(fault::connection_lost);
  // What no token can be is no vote.
  const bool wild = config_.tokens && (v.counter == 0 || v.counter > believable);
  return wild ? node_vote::of(fault::garbled) : v;
}

attempt::step attempt::answered(node_index i, const node_vote& v, time_point now) {
  if (!asked_.has(i) || answered_.has(i)) return rest();
  answered_.add(i);
  const node_vote counts = counted(i, v);
  if (counts.what != vote::granted || counts.counter != 0) votes_[i] = counts;
  if (v.what == vote::taken) taken_.add(i);
  if (counts.what == vote::granted) {
    granted_.add(i);
    const bool late = token_.value != 0 && v.counter > token_.value;
    if (late && !active.late_counter_never_counts) confirmed_.add(i);
  }
  return decide(now);
}

attempt::step attempt::raise_carried(node_index i, token to, std::uint64_t by, time_point now) {
  const bool same = by != 0 && by == carriers_[i];
  if (same || !active.raise_on_same_connection) return rest();
  return raised(i, to, node_vote::of(fault::unreachable), now);
}

attempt::step attempt::raised(node_index i, token to, const node_vote& v, time_point now) {
  if (to != token_ || !raising_.has(i)) return rest();
  raising_.remove(i);
  if (v.what == vote::granted) {
    confirmed_.add(i);
  } else {
    gone_.add(i);
    if (v.what == vote::taken) robbed_.add(i);
  }
  return decide(now);
}

attempt::step attempt::tick(time_point now) { return decide(now); }

attempt::step attempt::cancel() { return decided() ? rest() : fail(errc::cancelled); }

/// Our value may be on more nodes than are confirmed: those that answered after T was chosen, with
/// a counter that is at most T. Such a node is countable, and becomes confirmed at once where its
/// counter is T, else by a raise. One with a larger counter is not countable: T would not be above
/// what it has given. When too few are, T is chosen anew; it was not used yet.
attempt::step attempt::decide(time_point now) {
  if (decided()) return rest();
  const std::size_t enough = needed();
  if (!config_.tokens) confirmed_ = granted_;
  if (confirmed_.size() >= enough) return hold(now);
  const node_set pending = asked_ - answered_;
  if ((alive() | pending).size() < enough) return fail(reason(pending));
  timed_out_ = now >= limit_;
  if (timed_out_) return fail(reason({}));
  if (!config_.tokens || alive().size() < enough) return rest();
  if (token_.value == 0 || countable().size() < enough) return choose(now);
  // A node that answered after T was chosen, with a counter that is not above it.
  const node_set late = countable() - confirmed_ - raising_;
  if (late.empty()) return rest();
  node_set raise;
  for_each(late, [&](node_index i) {
    if (votes_[i].counter == token_.value) {
      confirmed_.add(i);
    } else {
      raise.add(i);
    }
  });
  if (confirmed_.size() >= enough) return hold(now);
  raising_ = raising_ | raise;
  step s = rest();
  s.raise = raise;
  return s;
}

/// T = the largest counter of all that hold our value: every one of them may then be counted.
attempt::step attempt::choose(time_point now) {
  state_ = state::raising;
  for_each(alive(),
           [&](node_index i) { token_.value = std::max(token_.value, votes_[i].counter); });
  confirmed_ = node_set{};
  node_set below;
  for_each(alive(), [&](node_index i) {
    const bool there = votes_[i].counter == token_.value || !active.raise_before_use;
    (there ? confirmed_ : below).add(i);
  });
  if (confirmed_.size() >= needed()) return hold(now);
  raising_ = below;
  limit_ = now + config_.timeout;
  step s = rest();
  s.raise = below;
  return s;
}

node_set attempt::countable() const noexcept {
  node_set s;
  for_each(alive(), [&](node_index i) {
    if (votes_[i].counter <= token_.value) s.add(i);
  });
  return s;
}

attempt::step attempt::hold(time_point now) {
  if (!active.count_from_send) counts_from_ = now;
  if (now >= until()) {
    too_late_ = true;
    return fail(errc::unavailable);
  }
  state_ = state::held;
  step s;
  s.decided = true;
  return s;
}

attempt::step attempt::fail(errc why) {
  state_ = state::failed;
  why_ = why;
  step s;
  s.decided = true;
  s.release = asked_ - taken_;
  return s;
}

attempt::step attempt::rest() const noexcept {
  step s;
  if (!decided()) s.wake = limit_;
  return s;
}

/// `pending` may still answer either way.
errc attempt::reason(node_set pending) const noexcept {
  const std::size_t most = spare(config_.nodes);
  const auto more_than_spare = [&](fault f) {
    std::size_t said = 0;
    for_each(node_set::all(config_.nodes),
             [&](node_index i) { said += votes_[i].why == f ? 1U : 0U; });
    return said > most;
  };
  if (more_than_spare(fault::denied)) return errc::denied;
  if (more_than_spare(fault::ttl_too_long)) return errc::invalid_argument;
  // Of this name, for this user: waiting cannot help.
  if (more_than_spare(fault::permission)) return errc::invalid_argument;
  if (more_than_spare(fault::counter_full)) return errc::damaged;
  const bool reached = config_.nodes - (granted_ | taken_ | pending).size() <= most;
  return reached && !(taken_ | robbed_).empty() ? errc::busy : errc::unavailable;
}

std::optional<duration> attempt::holder_left() const noexcept {
  std::optional<duration> longest;
  for_each(taken_, [&](node_index i) {
    const duration left = votes_[i].left;
    if (left != duration::max()) longest = std::max(longest.value_or(left), left);
  });
  return longest;
}

bool attempt::meets_endless() const noexcept {
  bool endless = false;
  for_each(taken_, [&](node_index i) { endless = endless || votes_[i].endless; });
  return endless;
}

error attempt::failure(std::string_view subject, std::span<const std::string> addresses) const {
  if (why_ == errc::cancelled) return {why_, std::string(subject) + ": cancelled by the caller"};
  const std::string of_all = " of " + std::to_string(config_.nodes) + " nodes";
  std::string text = std::string(subject) + ": ";
  // Decided early: nodes that were not waited for any more would say the same or nothing.
  if (why_ == errc::busy && granted_.empty()) {
    text += "held by somebody else (so say " + std::to_string(taken_.size()) + of_all +
            (taken_.size() == config_.nodes ? ")" : "; more need not be heard)");
  } else if (why_ == errc::busy) {
    text += "somebody else has or tries to get it: " + std::to_string(taken_.size()) + of_all +
            " said so, " + std::to_string(granted_.size()) + " granted it, needed are " +
            std::to_string(majority(config_.nodes));
  } else {
    text += "granted by " + std::to_string(granted_.size()) + of_all + ", held by somebody else " +
            "on " + std::to_string(taken_.size()) + ", needed are " +
            std::to_string(majority(config_.nodes));
  }
  if (meets_endless()) text.append("; ").append(endless_key);
  if (too_late_) text += "; the answers took longer than a ttl of " + print_duration(config_.ttl);
  said_of_nodes said(addresses);
  for_each(node_set::all(config_.nodes) - granted_ - taken_, [&](node_index i) {
    const bool silent = votes_[i].why == fault::none;
    // Decided early: whoever had not answered yet was not waited for.
    if (silent && (why_ == errc::busy || !timed_out_)) return;
    said.add(i, action_on(silent ? fault::silent : votes_[i].why).text);
  });
  for_each(timed_out_ ? gone_ | raising_ : gone_, [&](node_index i) {
    said.add(i, robbed_.has(i) ? "has lost it since" : "did not confirm the token");
  });
  return {why_, text + said.text()};
}

}  // namespace holdfast::core::redlock
