#include "core/redlock/admission.hpp"

#include "core/listed.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <utility>

/// What people read: why a node does not vote, and what brings a majority back.

namespace holdfast::core::redlock {

namespace {

using namespace std::chrono_literals;

constexpr const char* not_kept =
    "is not used before this user's notes have its process, which is being written";

/// In whole seconds where it is some: nodes that say the same then do so in the same words.
std::string left_until(time_point then, time_point now) {
  const duration left = std::max(then - now, duration::zero());
  return print_duration(left > 2s ? duration(std::chrono::ceil<std::chrono::seconds>(left))
                                  : duration(std::chrono::ceil<std::chrono::milliseconds>(left)));
}

std::string more_nodes(std::size_t missing) {
  return missing == 1 ? "1 more node that kept its state answers"
                      : std::to_string(missing) + " more nodes that kept their state answer";
}

}  // namespace

/// So many lost their state that the others cannot bring them back, whoever still connects.
bool admission::beyond_waiting() const noexcept {
  std::size_t hope = count(standing::away) + count(standing::refused);
  for (node_index i = 0; i < config_.nodes; ++i) {
    hope += intact(i) || only_stepped(i) ? 1U : 0U;
  }
  return config_.tokens && hope < seal_count(config_.nodes);
}

std::string admission::explain(node_index i, time_point now) const {
  const node_state& n = nodes_.at(i);
  if (voters().has(i)) return "votes";
  switch (n.is) {
    case standing::away:
      return "is not connected";
    case standing::admitted:
      return "is in a newer epoch than the nodes that vote";
    case standing::marking:
      return "lost its state; that is being recorded there";
    case standing::waiting:
      if (beyond_waiting()) return "lost its state";
      if (!config_.tokens && now >= n.wait.ready) return not_kept;
      return now < n.wait.ready ? explain_wait(i, now) : explain_return(i);
    case standing::joining:
    case standing::lagging:
      return explain_return(i);
    case standing::behind:
      return "has its clock " + left_until(n.wait.ready, now) +
             " behind the newest time that it recorded, and grants nothing until it is there again";
    case standing::blank:
      return "has no node record";
    case standing::refused:
      return explain_misfit(i);
  }
  return {};
}

std::string admission::explain_misfit(node_index i) const {
  const node_state& n = nodes_[i];
  if (n.refused.why != of_other_list) return n.refused.why;
  const std::string how =
      config_.difference ? config_.difference(n.facts.record->config_hash) : std::string();
  const std::string what = n.refused.why + (how.empty() ? "" : ", " + how);
  // To give it up costs that node's wait; a recover would stop everybody, and where the list that
  // others have is the new one, turn that change back.
  if (voters().size() >= majority(config_.nodes)) {
    return what + ". The nodes that vote have this one. If no client uses that list any more " +
           "(holdfast:session:* there name the owners), DEL holdfast:node on it: it waits and " +
           "rejoins as one that lost its state";
  }
  return what + ". Use the same nodes in the same spelling as the other clients (host names are " +
         "compared as text); who they are is in their sessions there, holdfast:session:*. Only " +
         "where no client is to use that list any more: stop all holders, then run: holdfast " +
         "redlock recover --other-list";
}

std::string admission::explain_wait(node_index i, time_point now) const {
  const node_state& n = nodes_[i];
  const std::string left = left_until(n.wait.ready, now);
  if (only_stepped(i)) return "had its clock set and does not vote for " + left + " more";
  if (config_.tokens) {
    const std::string text = "lost its state and does not vote for " + left + " more";
    const std::size_t missing = missing_others(i);
    return missing == 0 ? text : text + ", nor before " + more_nodes(missing);
  }
  if (n.out_until >= n.wait.ready) return "had its clock set; it votes in " + left;
  return explain_unseen(i, left);
}

/// Whoever was served before may be the very one who holds something: what a newcomer may assume
/// does not hold there, and a restart of another node could cost that lock.
std::string admission::explain_unseen(node_index i, const std::string& left) const {
  const auto replaces = [this](const node_state& n) {
    const auto is = notes_.process_at(n.facts.address);
    return is && is->replaces;
  };
  const bool used = served_ || std::ranges::any_of(nodes_, replaces);
  const std::string who =
      replaces(nodes_[i])
          ? "restarted, or another server is there now, and what was granted there may still be "
            "held; it votes again in "
          : "runs a server that this user on this host has not seen before: a new one, or one that "
            "restarted and may have granted what is still held; it votes in ";
  return who + left +
         (used ? " by itself (restart no other node before)"
               : ". Only where nothing can be held, assume_fresh=yes in the URL skips that");
}

/// What was missing when it was tried last may have come since.
std::string admission::explain_return(node_index i) const {
  const node_state& n = nodes_[i];
  const std::size_t missing = missing_others(i);
  // A node that lost nothing and finds too few others soon votes with what it has.
  const bool alone = n.join && n.wait.alone_at != time_point::max();
  if (missing == 0 || n.under_way.adopting || alone || may_meet()) {
    const std::size_t lacked = n.join ? n.join->lacked() : 0;
    if (lacked == 0) return "is being brought back";
    return "is being brought back, and was not yet, for of the other nodes " +
           std::to_string(lacked) + " more would have had to answer within " +
           print_duration(seal_limit(config_.timeout));
  }
  return "rejoins when " + more_nodes(missing);
}

/// Nodes that say the same are named together.
std::string admission::those_without_vote(time_point now, std::span<const std::string> away) const {
  std::string text;
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  const node_set votes = voters();
  for (node_index i = 0; i < config_.nodes; ++i) {
    if (votes.has(i)) continue;
    if (nodes_[i].is == standing::away && i < away.size()) {
      // What is said of several nodes is said of the first of them.
      if (!away[i].empty()) text += "; " + away[i];
      continue;
    }
    const std::string& address = nodes_[i].facts.address;
    const std::string name = address.empty() ? "node " + std::to_string(i + 1) : address;
    const std::string why = explain(i, now);
    auto same = std::ranges::find(reasons, why, &decltype(reasons)::value_type::first);
    if (same == reasons.end()) same = reasons.insert(same, {why, {}});
    same->second.push_back(name);
  }
  for (const auto& [why, names] : reasons) {
    text += "; " + listed(names) + (names.size() > 1 ? " each " : " ") + why;
  }
  return text;
}

result<void> admission::verdict(time_point now, std::span<const std::string> away) const {
  const std::size_t n = config_.nodes;
  const node_set votes = voters();
  if (votes.size() >= majority(n)) return {};
  std::string text = std::to_string(votes.size()) + " of " + std::to_string(n) +
                     " nodes vote, needed are " + std::to_string(majority(n)) +
                     those_without_vote(now, away);
  const std::size_t unfit = count(standing::refused);
  const std::size_t blank = count(standing::blank);
  // Where nodes are refused, the list is what has to be corrected first.
  if (unfit > n - majority(n) || (unfit > 0 && blank > 0)) {
    return error(errc::invalid_argument, std::move(text));
  }
  if (config_.tokens && blank >= majority(n)) {
    text += blank == n ? ". Run: holdfast redlock init"
                       : ". When all of them answer, run: holdfast redlock init";
    text +=
        ". Only if the store was in use, and so has lost its state: stop the holders, or wait "
        "until max_ttl has passed since, for a lock that is held would be granted again; then "
        "run: holdfast redlock recover";
    return error::for_operator(errc::not_initialised, std::move(text));
  }
  const bool are_behind = count(standing::behind) > n - majority(n);
  if (are_behind) {
    text +=
        ". Set the clocks right. Where they are right, and were wrong before: wait, or stop the "
        "holders and then run: holdfast redlock recover";
  }
  const bool lost = unfit == 0 && beyond_waiting();
  if (lost) {
    text +=
        ". Waiting alone brings none back: too few nodes kept their state. Stop the holders, or "
        "wait until max_ttl has passed since the loss, for a lock that is held may be granted "
        "again; then let every node that answers begin anew: holdfast redlock recover";
  }
  return are_behind || lost ? error::for_operator(errc::unavailable, std::move(text))
                            : error(errc::unavailable, std::move(text));
}

}  // namespace holdfast::core::redlock
