#include "engines/redlock/operations.hpp"

#include "core/lease.hpp"
#include "core/redlock/founding.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/gathering.hpp"
#include "engines/redlock/long_sessions.hpp"
#include "engines/redlock/replies.hpp"
#include "engines/redlock/ttl_limit.hpp"
#include "io/latch.hpp"
#include "io/process_identity.hpp"
#include "io/random.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using namespace std::chrono_literals;
using core::redlock::founding;
using core::redlock::write_reply;
using holdfast::redlock::node_info;
using holdfast::redlock::overview;
using holdfast::redlock::setup;

constexpr duration answer_limit = 2s;

void wait_ready(const std::shared_ptr<cluster>& c) {
  const auto done = std::make_shared<io::latch>();
  // A node that is behind is brought up only after some node timeouts.
  const duration limit = ready_limit + 12 * c->set().timeout_for(c->set().max_ttl);
  c->when_ready(
      clock::now() + limit, [done] { done->open(); }, cluster::readiness::settled);
  done->wait();
}

/// Every node's TIME that answers.
std::vector<core::redlock::server_time> times_of(const std::shared_ptr<cluster>& c) {
  struct asked {
    std::mutex mutex;
    std::vector<core::redlock::server_time> at;
    io::latch done;
  };
  const auto all = std::make_shared<asked>();
  all->at.resize(c->size());
  gathering::question q;
  q.to = node_set::all(c->size());
  q.limit = answer_limit;
  q.bytes = [](node_index) {
    std::string bytes;
    commands::time(bytes);
    return bytes;
  };
  q.each = [all](node_index i, const io::redis_answer& a) {
    const reading<server_time> at = a.reply == nullptr ? fault::silent : replies::time(*a.reply);
    if (at) all->at[i] = *at;
    return false;
  };
  q.done = [all] { all->done.open(); };
  gathering::ask(c, std::move(q));
  all->done.wait();
  return all->at;
}

std::string text_of(const io::redis_facts& server, const char* key) {
  const auto found = server.info.find(key);
  return found == server.info.end() ? std::string() : found->second;
}

/// Why the server may drop keys that have not ended; empty when it does not.
std::string unsafe_setting(const io::redis_facts& server) {
  const std::string limit = text_of(server, "maxmemory");
  const std::string policy = text_of(server, "maxmemory_policy");
  if (limit.empty() || limit == "0" || policy.empty() || policy == "noeviction") return {};
  return "drops keys when its memory limit is reached (maxmemory-policy " + policy +
         "): a held lock can vanish. Set maxmemory-policy noeviction";
}

std::vector<founding::node> look_for_founding(const std::shared_ptr<cluster>& c, const setup& how) {
  wait_ready(c);
  const auto times = times_of(c);
  std::vector<founding::node> nodes;
  for (node_index i = 0; i < c->size(); ++i) {
    const auto p = c->look_at(i);
    founding::node n;
    n.answered = p.trouble.empty() && p.judged && times[i].count() > 0 &&
                 p.standing != core::redlock::admission::standing::away;
    n.votes = n.answered && c->now_voting()->voters.has(i);
    n.facts = p.facts;
    n.facts.address = c->addresses()[i];
    n.at = times[i];
    n.trouble = p.trouble;
    n.fresh = io::random_session_id().str();
    if (n.answered && p.server && !how.accept_unsafe) n.unsafe = unsafe_setting(*p.server);
    nodes.push_back(std::move(n));
  }
  return nodes;
}

/// A node that did not confirm its record, and why.
struct unconfirmed {
  node_index node{};
  std::string why{};
};

/// Sends the writes on the connections that their facts came from; which were not confirmed.
std::vector<unconfirmed> write_all(const std::shared_ptr<cluster>& c,
                                   const std::vector<core::redlock::write>& writes) {
  struct asked {
    std::mutex mutex;
    std::size_t left{};
    std::vector<unconfirmed> failed;
    io::latch done;
  };
  const auto all = std::make_shared<asked>();
  all->left = writes.size();
  for (const auto& w : writes) {
    c->write_record(w, [all, i = w.node](write_reply r, const std::string& said) {
      const std::lock_guard hold(all->mutex);
      const char* otherwise = r == write_reply::changed ? "somebody else wrote its record meanwhile"
                                                        : "its answer cannot be read";
      if (r != write_reply::written) all->failed.push_back({i, said.empty() ? otherwise : said});
      if (--all->left == 0) all->done.open();
    });
  }
  all->done.wait();
  std::ranges::sort(all->failed, {}, &unconfirmed::node);
  return all->failed;
}

/// What is known after some nodes did not confirm. Only a majority without a vote needs a person.
error not_all_written(const cluster& c, const std::string& verb, duration max_ttl,
                      std::size_t asked, const std::vector<unconfirmed>& failed) {
  const std::size_t written = asked - failed.size();
  std::string text = verb + ": " + std::to_string(written) + " of " + std::to_string(asked) +
                     " nodes confirmed their record";
  for (const unconfirmed& u : failed) text += "; " + c.addresses()[u.node] + ": " + u.why;
  const auto votes = c.now_voting()->voters.size();
  if (votes >= c.majority()) {
    text += ". Locks can be granted: " + std::to_string(votes) + " of " + std::to_string(c.size()) +
            " nodes vote. Any client brings in the others, max_ttl (" + print_duration(max_ttl) +
            ") and a margin after they take writes; see holdfast redlock status";
    return {errc::outcome_unknown, std::move(text)};
  }
  // One record is enough for init to call the store set up.
  text += ". Let the nodes take writes, then run: holdfast redlock " +
          (written == 0 ? verb : std::string("recover"));
  return {errc::outcome_unknown, std::move(text)};
}

/// The longest that a node's record says; zero: there is none.
duration kept_max_ttl(const cluster& c) {
  duration kept{};
  for (node_index i = 0; i < c.size(); ++i) {
    if (const auto p = c.look_at(i); p.facts.record) {
      kept = std::max(kept, p.facts.record->max_ttl);
    }
  }
  return kept;
}

/// What was asked for, else what the nodes still have, else the default.
duration max_ttl_of(const setup& how, const cluster& c) {
  if (how.max_ttl > duration::zero()) return how.max_ttl;
  const duration kept = kept_max_ttl(c);
  return kept > duration::zero() ? kept : c.set().max_ttl;
}

/// A ttl that is named is never shortened; empty when it fits.
std::string ttl_above(const settings& s, duration max_ttl) {
  if (!s.ttl || *s.ttl <= max_ttl) return {};
  return "the URL's ttl is " + print_duration(*s.ttl) + ", above the max_ttl of " +
         print_duration(max_ttl) + ": no session can be opened with this URL";
}

/// What to do about a URL with another max_ttl than the nodes; empty when it has none.
std::string other_max_ttl(const settings& s, duration recorded, const std::string& where) {
  if (!s.max_ttl_given || s.max_ttl == recorded) return {};
  return "the URL's max_ttl is " + print_duration(s.max_ttl) + ", that of " + where + " " +
         print_duration(recorded) +
         ": the records decide, the URL only forbids its clients a longer ttl. Let both say the "
         "same";
}

/// What has to be so before `max_ttl` is written.
result<void> may_set(const std::shared_ptr<cluster>& c, const founding::config& config,
                     std::string_view verb, bool shortens) {
  // For recover it is no reason to leave a store as it is: others may have another URL.
  if (const auto misfit = ttl_above(c->set(), config.max_ttl); verb == "init" && !misfit.empty()) {
    return error(errc::invalid_argument, misfit + ". Take a shorter ttl in it, or --max-ttl " +
                                             print_duration(*c->set().ttl) +
                                             " or more; nothing was written");
  }
  return shortens ? long_sessions_ended(c, config.max_ttl) : result<void>();
}

node_info info_of(const cluster& c, node_index i) {
  const auto p = c.look_at(i);
  node_info n;
  n.address = c.addresses()[i];
  n.connected = p.trouble.empty() && p.server.has_value();
  n.votes = c.now_voting()->voters.has(i);
  n.standing = n.connected ? p.explanation : p.trouble;
  if (!n.connected) return n;
  n.version = p.server->version;
  n.role = p.server->role;
  n.durable = p.facts.durable;
  if (!p.facts.record) return n;
  n.recorded = true;
  n.id = p.facts.record->id;
  n.epoch = p.facts.record->epoch;
  n.floor = p.facts.record->floor;
  n.max_ttl = p.facts.record->max_ttl;
  return n;
}

overview overview_of(const std::shared_ptr<cluster>& c) {
  wait_ready(c);
  overview all;
  all.url = c->set().url;
  all.tokens = c->set().tokens;
  all.needed = c->majority();
  for (node_index i = 0; i < c->size(); ++i) {
    all.nodes.push_back(info_of(*c, i));
    if (all.nodes.back().votes) ++all.votes;
  }
  if (auto v = c->verdict(); !v) {
    all.trouble = v.error().code();
    all.advice = v.error().message();
  }
  return all;
}

result<overview> found(const std::shared_ptr<cluster>& c, const setup& how, const char* verb,
                       result<std::vector<core::redlock::write>> (*plan)(
                           const founding::config&, std::span<const founding::node>)) {
  if (!c->set().tokens) {
    return error(errc::unsupported,
                 "with tokens=off the nodes keep no records: there is nothing "
                 "to set up or to recover");
  }
  const auto nodes = look_for_founding(c, how);
  founding::config config;
  config.config_hash = c->set().config_hash;
  config.max_ttl = max_ttl_of(how, *c);
  config.changes_max_ttl = how.max_ttl > duration::zero();
  config.other_list = how.other_list;
  if (config.max_ttl < core::ttl_min || config.max_ttl > core::ttl_max) {
    return error(errc::invalid_argument, "max_ttl is " + print_duration(config.max_ttl) +
                                             "; it must be from " + print_duration(core::ttl_min) +
                                             " to " + print_duration(core::ttl_max));
  }
  const auto writes = plan(config, nodes);
  if (!writes) return writes.error();
  if (writes->empty()) {
    overview all = overview_of(c);
    if (all.trouble) return all;
    all.advice = "all nodes vote: there is nothing to recover, and nothing was written";
    const auto misfit = ttl_above(c->set(), config.max_ttl);
    if (!misfit.empty()) all.advice += ". But " + misfit;
    return all;
  }
  // No session has a longer ttl than the nodes allowed.
  const bool shortens = config.max_ttl < kept_max_ttl(*c);
  if (auto may = may_set(c, config, verb, shortens); !may) return may.error();
  const auto failed = write_all(c, *writes);
  for (node_index i = 0; i < c->size(); ++i) c->look_again(i);
  wait_ready(c);
  if (shortens && failed.empty()) {
    if (auto none = none_came_meanwhile(c, config.max_ttl); !none) return none.error();
  }
  if (failed.empty()) {
    overview all = overview_of(c);
    if (all.trouble) return all;
    all.advice = ttl_above(c->set(), config.max_ttl);
    if (all.advice.empty()) {
      all.advice = other_max_ttl(c->set(), config.max_ttl, "the nodes' records");
    }
    return all;
  }
  return not_all_written(*c, verb, config.max_ttl, writes->size(), failed);
}

}  // namespace

overview look_over(const std::shared_ptr<cluster>& c) {
  overview all = overview_of(c);
  if (all.trouble || !all.tokens || !c->set().ttl) return all;
  const duration most = longest_ttl(*c);
  if (*c->set().ttl <= most) return all;
  all.trouble = errc::invalid_argument;
  all.advice = "a majority votes, but no session can be opened with this URL: " +
               ttl_too_long(*c->set().ttl, most);
  return all;
}

result<overview> init(const std::shared_ptr<cluster>& c, const setup& how) {
  return found(c, how, "init", &founding::init);
}

result<overview> recover(const std::shared_ptr<cluster>& c, const setup& how) {
  return found(c, how, "recover", &founding::recover);
}

// ---- doctor ----

namespace {

finding about(const std::string& subject, finding::level severity, std::string text) {
  return {severity, subject, std::move(text)};
}

std::string offset_text(core::redlock::server_time at, wall_time here) {
  const auto off = at - here.time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(off).count();
  return "its clock is " + std::string(ms < 0 ? "-" : "+") + std::to_string(ms < 0 ? -ms : ms) +
         " ms from this host's";
}

std::string persistence_text(const cluster::picture& p) {
  if (p.facts.durable) return "every write is synced";
  if (!p.config_refusal.empty()) return "whether every write is synced is not told";
  if (text_of(*p.server, "aof_enabled") == "1") return "appendonly, not synced at every write";
  return "no appendonly file";
}

std::string server_text(const cluster::picture& p, core::redlock::server_time at) {
  const std::string policy = text_of(*p.server, "maxmemory_policy");
  std::string text = "Redis " + p.server->version + ", " + p.server->role + ", " +
                     persistence_text(p) + ", eviction policy " +
                     (policy.empty() ? "not told" : policy);
  if (text_of(*p.server, "maxmemory") == "0") text += " (no memory limit)";
  if (at.count() > 0) text += ", " + offset_text(at, io::wall_now());
  return text;
}

std::string record_text(const cluster::picture& p, bool tokens) {
  if (!tokens) return "keeps no record (tokens=off)";
  if (!p.facts.record) return "no record";
  const auto& r = *p.facts.record;
  return "record " + r.id.substr(0, 8) + ", epoch " + std::to_string(r.epoch) + ", max_ttl " +
         print_duration(r.max_ttl) + ", token floor " + std::to_string(r.floor);
}

void judge_node(const cluster& c, node_index i, core::redlock::server_time at,
                std::vector<finding>& all) {
  using level = finding::level;
  const auto p = c.look_at(i);
  const std::string& name = c.addresses()[i];
  if (!p.trouble.empty() || !p.server) {
    all.push_back(about(name, level::warning, "does not vote: " + p.trouble));
    return;
  }
  all.push_back(about(name, level::good, server_text(p, at)));
  if (const auto unsafe = unsafe_setting(*p.server); !unsafe.empty()) {
    all.push_back(about(name, level::fault, unsafe));
  }
  if (!p.load_refusal.empty()) {
    all.push_back(about(name, level::fault,
                        p.load_refusal + ". It works with the scripts that somebody else loaded, "
                                         "until it restarts"));
  }
  if (!p.look_refusal.empty()) {
    all.push_back(
        about(name, level::fault, p.look_refusal + ". It votes until it is connected to anew"));
  }
  if (!p.facts.durable) {
    const std::string after = "loses locks when it restarts, and then does not vote for max_ttl; ";
    all.push_back(about(name, level::warning,
                        p.config_refusal.empty()
                            ? after + "set appendonly yes and appendfsync always to keep both, "
                                      "and attach no replica"
                            : "counts as one that " + after + "it refuses CONFIG GET: " +
                                  p.config_refusal + ". Allow +config|get"));
  }
  // That it has no record is what a blank node's explanation says.
  const bool blank = p.standing == core::redlock::admission::standing::blank;
  // What is refused stays so until somebody corrects it.
  const bool refused = p.standing == core::redlock::admission::standing::refused;
  const bool votes = c.now_voting()->voters.has(i);
  all.push_back(
      about(name,
            refused ? level::fault
            : votes ? level::good
                    : level::warning,
            blank ? p.explanation : p.explanation + "; " + record_text(p, c.set().tokens)));
}

/// With tokens the nodes' records decide, and are to say the same.
void judge_max_ttl(const cluster& c, std::vector<finding>& all) {
  std::vector<std::pair<std::string, duration>> records;
  for (node_index i = 0; i < c.size(); ++i) {
    const auto p = c.look_at(i);
    if (!p.facts.record || p.standing == core::redlock::admission::standing::refused) continue;
    records.emplace_back(c.addresses()[i], p.facts.record->max_ttl);
  }
  if (records.empty()) return;
  const auto& [address, first] = records.front();
  const auto warn = [&all](std::string text) {
    all.push_back(about("max_ttl", finding::level::warning, std::move(text)));
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

}  // namespace

std::vector<finding> diagnose(const std::shared_ptr<cluster>& c) {
  using level = finding::level;
  std::vector<finding> all;
  wait_ready(c);
  const auto times = times_of(c);
  for (node_index i = 0; i < c->size(); ++i) judge_node(*c, i, times[i], all);
  if (c->set().tokens) judge_max_ttl(*c, all);
  if (auto v = c->verdict(); v) {
    all.push_back(about("majority", level::good,
                        std::to_string(c->now_voting()->voters.size()) + " of " +
                            std::to_string(c->size()) + " nodes vote, needed are " +
                            std::to_string(c->majority())));
  } else {
    all.push_back(about("majority", level::fault, v.error().message()));
  }
  if (c->size() % 2 == 0) {
    const std::size_t less = c->size() - 1;
    all.push_back(about("nodes", level::warning,
                        std::to_string(c->size()) + " nodes tolerate no more failures than " +
                            std::to_string(less) + (less == 1 ? " node does" : " nodes do") +
                            "; use an odd number"));
  }
  if (c->size() == 3 && c->set().tokens) {
    all.push_back(about("nodes", level::warning,
                        "with 3 nodes one that is down and one that lost its state stop all "
                        "locks; 5 are recommended"));
  }
  if (!c->set().tokens) {
    all.push_back(about("tokens", level::warning,
                        "off: no fencing tokens, no deny, and a restart is seen by run_id alone; "
                        "after one a node waits for max_ttl, here " +
                            print_duration(c->set().max_ttl) +
                            (c->set().assume_fresh ? ", but assume_fresh=yes skips that" : "")));
  }
  return all;
}

}  // namespace holdfast::engines::redlock
