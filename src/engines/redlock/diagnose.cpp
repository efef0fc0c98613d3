#include "engines/redlock/diagnose.hpp"

#include "engines/redlock/look_at_nodes.hpp"
#include "engines/redlock/max_ttl.hpp"
#include "io/redis/redis_facts.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

finding about(const std::string& subject, holdfast::severity severity, std::string text,
              std::vector<figure> figures = {}) {
  return {severity, subject, std::move(text), std::move(figures)};
}

std::string persistence_text(const cluster::node_view& p) {
  if (p.facts.durable) return "every write is synced";
  if (!p.refused.config.empty()) return "whether every write is synced is not told";
  if (!p.refused.reload.empty()) return "every write is synced, but not read back";
  if (text_of(*p.server, "aof_enabled") == "1") return "appendonly, not synced at every write";
  return "no appendonly file";
}

std::string server_text(const cluster::node_view& p, const node_time& t) {
  const std::string policy = text_of(*p.server, "maxmemory_policy");
  std::string text = "Redis " + p.server->version + ", " + io::role_of(*p.server) + ", " +
                     persistence_text(p) + ", eviction policy " +
                     (policy.empty() ? "not told" : policy);
  if (text_of(*p.server, "maxmemory") == "0") text += " (no memory limit)";
  if (t.at.count() > 0) text += ", " + offset_text(t);
  return text;
}

std::string record_text(const cluster::node_view& p, bool tokens) {
  if (!tokens) return "keeps no record (tokens=off)";
  if (!p.facts.record) return "no record";
  const auto& r = *p.facts.record;
  return "record " + r.id.substr(0, 8) + ", epoch " + std::to_string(r.epoch) + ", max_ttl " +
         print_duration(r.max_ttl) + ", token floor " + std::to_string(r.floor);
}

/// Named as `redlock status --json` names them.
std::vector<figure> record_figures(const cluster::node_view& p) {
  if (!p.facts.record) return {};
  const auto& r = *p.facts.record;
  return {{"epoch", static_cast<double>(r.epoch)},
          {"floor", static_cast<double>(r.floor)},
          {"max_ttl_s", std::chrono::duration<double>(r.max_ttl).count()}};
}

std::string why_not_durable(const cluster::node_view& p) {
  const std::string after = "loses locks when it restarts, and then does not vote for max_ttl; ";
  if (!p.refused.config.empty()) {
    return "counts as one that " + after + "it refuses CONFIG GET: " + p.refused.config +
           ". Allow +config|get";
  }
  if (!p.refused.reload.empty()) return "counts as one that " + after + p.refused.reload;
  return after + "set appendonly yes and appendfsync always to keep both, and attach no replica";
}

void judge_node(const cluster& c, node_index i, const node_time& t, std::vector<finding>& all) {
  const auto p = c.view_of(i);
  const std::string& name = c.addresses()[i];
  if (!p.trouble.empty() || !p.server) {
    all.push_back(about(name, severity::warning, "does not vote: " + p.trouble));
    return;
  }
  all.push_back(about(name, severity::good, server_text(p, t), offset_figures(t)));
  // Where that is not accepted, the node is refused for it.
  if (const auto unsafe = unsafe_setting(*p.server); !unsafe.empty() && p.facts.unsafe.empty()) {
    all.push_back(about(name, severity::fault, unsafe));
  }
  if (!p.refused.load.empty()) {
    all.push_back(about(name, severity::fault,
                        p.refused.load + ". It works with the scripts that somebody else loaded, "
                                         "until it restarts"));
  }
  if (!p.refused.look.empty()) {
    all.push_back(
        about(name, severity::fault, p.refused.look + ". It votes until it is connected to anew"));
  }
  if (!p.facts.durable) {
    all.push_back(about(name, severity::warning, why_not_durable(p)));
  }
  // That it has no record is what a blank node's explanation says.
  const bool blank = p.standing == core::redlock::admission::standing::blank;
  // What is refused stays so until somebody corrects it.
  const bool refused = p.standing == core::redlock::admission::standing::refused;
  const bool votes = c.now_voting()->voters.has(i);
  all.push_back(about(name,
                      refused ? severity::fault
                      : votes ? severity::good
                              : severity::warning,
                      blank ? p.explanation : p.explanation + "; " + record_text(p, c.set().tokens),
                      record_figures(p)));
}

/// With tokens the nodes' records decide, and are to say the same.
void judge_max_ttl(const cluster& c, std::vector<finding>& all) {
  std::vector<std::pair<std::string, duration>> records;
  for (node_index i = 0; i < c.size(); ++i) {
    const auto p = c.view_of(i);
    if (!p.facts.record || p.standing == core::redlock::admission::standing::refused) continue;
    records.emplace_back(c.addresses()[i], p.facts.record->max_ttl);
  }
  if (records.empty()) return;
  const auto& [address, first] = records.front();
  const auto warn = [&all](std::string text) {
    all.push_back(about("max_ttl", severity::warning, std::move(text)));
  };
  if (const auto text = other_max_ttl(c.set(), first, "the record of " + address); !text.empty()) {
    warn(text + "; holdfast redlock recover --max-ttl " + print_duration(c.set().max_ttl) +
         " changes the records");
  }
  const auto other =
      std::ranges::find_if(records, [first = first](const auto& r) { return r.second != first; });
  if (other == records.end()) return;
  const auto by_ttl = &std::pair<std::string, duration>::second;
  const duration longest = std::ranges::max_element(records, {}, by_ttl)->second;
  warn("the records of nodes differ, " + print_duration(first) + " and " +
       print_duration(other->second) + " at " + other->first +
       ": a longer ttl is refused by some nodes, and the longest is waited out after a loss. When "
       "all nodes vote and no lock is held: holdfast redlock recover --max-ttl " +
       print_duration(longest));
}

finding judge_majority(const cluster& c) {
  const std::size_t votes = c.now_voting()->voters.size();
  std::vector<figure> figures{{"votes", static_cast<double>(votes)},
                              {"nodes", static_cast<double>(c.size())},
                              {"needed", static_cast<double>(c.majority())}};
  const auto v = c.verdict();
  return about("majority", v ? severity::good : severity::fault,
               v ? std::to_string(votes) + " of " + std::to_string(c.size()) +
                       " nodes vote, needed are " + std::to_string(c.majority())
                 : v.error().message(),
               std::move(figures));
}

}  // namespace

std::vector<finding> diagnose(const std::shared_ptr<cluster>& c) {
  std::vector<finding> all;
  wait_ready(c);
  const auto times = times_of(c);
  for (node_index i = 0; i < c->size(); ++i) judge_node(*c, i, times[i], all);
  if (c->set().tokens) judge_max_ttl(*c, all);
  all.push_back(judge_majority(*c));
  if (const std::string even = c->set().even_nodes(); !even.empty()) {
    all.push_back(about("nodes", severity::warning, even));
  }
  if (c->size() == 3 && c->set().tokens) {
    all.push_back(about("nodes", severity::warning,
                        "with 3 nodes one that is down and one that lost its state stop all "
                        "locks; 5 are recommended"));
  }
  if (!c->set().tokens) {
    all.push_back(about("tokens", severity::warning,
                        "off: no fencing tokens, no deny, and a restart is seen by run_id alone; "
                        "after one a node waits for max_ttl, here " +
                            print_duration(c->set().max_ttl) +
                            (c->set().assume_fresh
                                 ? ", but assume_fresh=yes skips that for programs that start then"
                                 : ""),
                        {{"max_ttl_s", std::chrono::duration<double>(c->set().max_ttl).count()}}));
  }
  return all;
}

}  // namespace holdfast::engines::redlock
