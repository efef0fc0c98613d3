#include "core/redlock/founding.hpp"

#include "core/assert.hpp"
#include "core/redlock/quorum.hpp"
#include "core/redlock/rules.hpp"
#include "core/redlock/say_together.hpp"

#include <holdfast/token.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::core::redlock {

namespace {

using founding::node;

std::string name_of(const node& n, std::size_t i) {
  return n.facts.address.empty() ? "node " + std::to_string(i + 1) : n.facts.address;
}

void append(std::string& list, const char* between, const std::string& item) {
  if (!list.empty() && !item.empty()) list += between;
  list += item;
}

/// Why it can, or may, be no voter of any store; empty when it can.
std::string misfit(std::span<const node> nodes, std::size_t i) {
  const node_facts& f = nodes[i].facts;
  if (std::string kind = misfit_of_kind(f); !kind.empty()) return kind;
  for (std::size_t other = 0; other < i; ++other) {
    const bool same = nodes[other].answered && nodes[other].facts.run_id == f.run_id;
    if (same) return "is the same server as " + name_of(nodes[other], other);
  }
  return {};
}

/// All that did not answer, and why; empty when there is none. A node that refuses us has answered:
/// a wrong password is not a server that is down.
std::string missing(std::span<const node> nodes) {
  std::string silent;
  std::vector<std::string> refused(nodes.size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    names.push_back(name_of(nodes[i], i));
    if (nodes[i].answered) continue;
    refused[i] = nodes[i].trouble;
    if (refused[i].empty()) append(silent, "; ", names[i] + " did not answer");
  }
  say_together(refused, names);
  std::string all;
  for (const std::string& why : refused) append(all, "; ", why);
  if (!all.empty()) all = "cannot be used: " + all;
  append(all, "; ", silent);
  return all;
}

result<void> all_fit(std::span<const node> nodes) {
  if (nodes.empty() || nodes.size() > nodes_max) {
    return error(errc::invalid_argument, "a Redlock store has 1 to " + std::to_string(nodes_max) +
                                             " nodes, not " + std::to_string(nodes.size()));
  }
  std::string all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].answered) continue;
    const std::string why = misfit(nodes, i);
    if (!why.empty()) append(all, "; ", name_of(nodes[i], i) + " " + why);
  }
  if (all.empty()) return {};
  append(all, "; ", missing(nodes));
  return error(errc::invalid_argument, std::move(all));
}

bool is_of_other_list(const founding::config& c, const node& n) {
  return n.answered && n.facts.record && n.facts.record->config_hash != c.config_hash;
}

/// Two stores may be live: each loses the nodes that the other one takes.
result<void> all_ours(const founding::config& c, std::span<const node> nodes) {
  if (c.other_list) return {};
  std::string names;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_of_other_list(c, nodes[i])) append(names, ", ", name_of(nodes[i], i));
  }
  if (names.empty()) return {};
  return error(errc::invalid_argument,
               "these nodes belong to a store with another list of nodes: " + names +
                   ". That store would lose them and what they granted; nothing was written. Is "
                   "the list right? To give that store this new list, stop all holders, then add "
                   "--other-list");
}

/// Why nothing is written although `waiting` (nodes that answer) and `away` do not vote.
error too_early(std::size_t votes, std::size_t all, const std::string& waiting,
                const std::string& away, bool changes_max_ttl) {
  std::string both = waiting;
  append(both, ", ", away);
  std::string text = std::to_string(votes) + " of " + std::to_string(all) +
                     " nodes vote, which is a majority: " +
                     (changes_max_ttl ? "max_ttl is changed when all that answer vote"
                                      : "there is nothing to recover") +
                     ", and nothing was written. A new record would let what " + both +
                     " has lost be granted again while it is held";
  if (!waiting.empty()) {
    text += ". " + waiting + " comes back by itself; holdfast redlock status tells when";
  }
  if (!away.empty()) text += ". " + away + " does not answer; it comes back once it does";
  return {errc::busy, std::move(text)};
}

/// Whether recover() has a reason; an error where it would only make nodes vote too early.
result<bool> has_a_reason(const founding::config& c, std::span<const node> nodes) {
  std::size_t votes = 0;
  bool changes = false;
  std::string waiting;
  std::string away;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const node& n = nodes[i];
    if (is_of_other_list(c, n)) return true;
    const bool another = n.facts.record && n.facts.record->max_ttl != c.max_ttl;
    changes = changes || (c.changes_max_ttl && n.answered && another);
    if (n.votes) {
      ++votes;
    } else {
      append(n.answered ? waiting : away, ", ", name_of(n, i));
    }
  }
  if (votes < majority(nodes.size())) return true;
  // Who is away is given no record now, and waits by itself when it has lost its own.
  if (changes && waiting.empty()) return true;
  if (waiting.empty() && away.empty()) return false;
  return too_early(votes, nodes.size(), waiting, away, changes);
}

std::uint64_t latest_clock(std::span<const node> nodes) {
  std::uint64_t latest = 0;
  for (const node& n : nodes) {
    const auto wall = static_cast<std::uint64_t>(std::max(n.at, server_time{}).count());
    if (n.answered && wall < believable) latest = std::max(latest, wall);
  }
  return latest;
}

/// Above every token that any node remembers, and above what a clock that only grew ever gave.
std::uint64_t first_floor(std::span<const node> nodes) {
  std::uint64_t floor = latest_clock(nodes);
  for (const node& n : nodes) {
    if (!n.answered || !n.facts.record) continue;
    const std::uint64_t its = n.facts.record->floor;
    if (its <= believable) floor = std::max(floor, its);
  }
  return floor;
}

/// One that no counter on any node has, be it restored from an older file: a script believes a
/// counter of its epoch rather than the floor. Where records were lost the number of the last epoch
/// was, too, so that like the floor it comes from the clock.
std::uint64_t first_epoch(std::span<const node> nodes) {
  std::uint64_t epoch = active.fresh_epoch ? std::max<std::uint64_t>(latest_clock(nodes), 1) : 1;
  for (const node& n : nodes) {
    if (!n.answered || !n.facts.record) continue;
    const node_record& r = *n.facts.record;
    if (active.fresh_epoch && r.floor < believable) epoch = std::max(epoch, r.floor);
    for (const std::uint64_t its : {r.epoch, r.kept_epoch}) {
      if (its < believable) epoch = std::max(epoch, its + 1);
    }
  }
  HOLDFAST_ASSERT(epoch > 0 && epoch <= believable);
  return epoch;
}

write write_for(const founding::config& c, const node& n, std::size_t i, std::uint64_t epoch,
                std::uint64_t floor) {
  write w;
  w.node = static_cast<node_index>(i);
  if (n.facts.record) {
    w.nonce_seen = n.facts.record->nonce;
    w.epoch_seen = n.facts.record->epoch;
  }
  w.record.id = n.facts.record ? n.facts.record->id : n.fresh;
  w.record.nonce = n.fresh;
  w.record.epoch = epoch;
  w.record.run_id = n.facts.run_id;
  w.record.floor = floor;
  w.record.max_ttl = c.max_ttl;
  w.record.last_time = n.at;
  w.record.config_hash = c.config_hash;
  w.record.durable = n.facts.durable;
  return w;
}

/// Of every node that answers.
std::vector<write> writes_for(const founding::config& c, std::span<const node> nodes) {
  const std::uint64_t epoch = first_epoch(nodes);
  const std::uint64_t floor = first_floor(nodes);
  std::vector<write> writes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].answered) writes.push_back(write_for(c, nodes[i], i, epoch, floor));
  }
  return writes;
}

}  // namespace

result<std::vector<write>> founding::plan_init(const config& c, std::span<const node> nodes) {
  if (const auto fit = all_fit(nodes); !fit) return fit.error();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_of_other_list(c, nodes[i])) {
      return error(errc::invalid_argument,
                   name_of(nodes[i], i) + " has a node record of a store with another list of " +
                       "nodes. Use the list of that store, or another server");
    }
    if (nodes[i].facts.record) {
      return error(errc::invalid_argument,
                   name_of(nodes[i], i) + " has a node record: the store is set up already. " +
                       "If a majority lost its state, run: holdfast redlock recover");
    }
  }
  if (const std::string gone = missing(nodes); !gone.empty()) {
    return error(errc::unavailable, gone + ". init needs every node, because one that is missing " +
                                        "may belong to a store already");
  }
  return writes_for(c, nodes);
}

result<std::vector<write>> founding::plan_recover(const config& c, std::span<const node> nodes) {
  if (const auto fit = all_fit(nodes); !fit) return fit.error();
  if (const auto ours = all_ours(c, nodes); !ours) return ours.error();
  const auto reason = has_a_reason(c, nodes);
  if (!reason) return reason.error();
  if (!*reason) return std::vector<write>();
  auto writes = writes_for(c, nodes);
  if (writes.size() < majority(nodes.size())) {
    return error(errc::unavailable,
                 std::to_string(writes.size()) + " of " + std::to_string(nodes.size()) +
                     " nodes can be used, needed are " + std::to_string(majority(nodes.size())) +
                     "; " + missing(nodes));
  }
  return writes;
}

}  // namespace holdfast::core::redlock
