#include "engines/redlock/set_up.hpp"

#include "core/lease.hpp"
#include "core/redlock/founding.hpp"
#include "core/store_url.hpp"
#include "engines/redlock/look_at_nodes.hpp"
#include "engines/redlock/max_ttl.hpp"
#include "io/redis/redis_facts.hpp"
#include "io/thread/latch.hpp"
#include "io/thread/mutex.hpp"
#include "io/thread/random.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::engines::redlock {

namespace {

namespace founding = core::redlock::founding;
using core::redlock::write_reply;
using holdfast::redlock::init_options;
using holdfast::redlock::node_info;
using holdfast::redlock::overview;
using holdfast::redlock::recover_options;

std::vector<founding::node> look_for_founding(const std::shared_ptr<cluster>& c) {
  wait_ready(c);
  const auto times = times_of(c);
  std::vector<founding::node> nodes;
  for (node_index i = 0; i < c->size(); ++i) {
    const auto p = c->view_of(i);
    founding::node n;
    n.answered = p.trouble.empty() && p.judged && times[i].at.count() > 0 &&
                 p.standing != core::redlock::admission::standing::away;
    n.votes = n.answered && c->now_voting()->voters.has(i);
    n.facts = p.facts;
    n.facts.address = c->addresses()[i];
    n.at = times[i].at;
    n.trouble = p.trouble;
    n.fresh = io::random_session_id().str();
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
    io::mutex mutex;
    std::size_t left HOLDFAST_GUARDED_BY(mutex){};
    std::vector<unconfirmed> failed HOLDFAST_GUARDED_BY(mutex);
    io::latch done;
  };
  const auto all = std::make_shared<asked>();
  {
    const io::held_mutex hold(all->mutex);
    all->left = writes.size();
  }
  for (const auto& w : writes) {
    c->write_record(w, [all, i = w.node](write_reply r, const std::string& said) {
      const io::held_mutex hold(all->mutex);
      const char* otherwise = r == write_reply::changed ? "somebody else wrote its record meanwhile"
                                                        : "its answer cannot be read";
      if (r != write_reply::written) all->failed.push_back({i, said.empty() ? otherwise : said});
      if (--all->left == 0) all->done.open();
    });
  }
  all->done.wait();
  const io::held_mutex hold(all->mutex);
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
  if (votes == c.size()) {
    text += ". All nodes vote, and locks can be granted";
    return {errc::outcome_unknown, std::move(text)};
  }
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

node_info info_of(const cluster& c, node_index i) {
  const auto p = c.view_of(i);
  node_info n;
  n.address = c.addresses()[i];
  n.connected = p.trouble.empty() && p.server.has_value();
  n.votes = c.now_voting()->voters.has(i);
  n.standing = n.connected ? p.explanation : p.trouble;
  if (!n.connected) return n;
  n.version = p.server->version;
  n.role = io::role_of(*p.server);
  n.durable = p.facts.durable;
  // Without that reason it is looked for in vain, each time that the keys are gone again. Where it
  // is not accepted, the standing says so.
  const bool is_told = n.votes || !p.facts.unsafe.empty();
  const std::string unsafe = is_told ? "" : unsafe_setting(*p.server);
  if (!unsafe.empty()) n.standing += "; it " + unsafe;
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

overview nothing_to_write(const std::shared_ptr<cluster>& c, duration max_ttl) {
  overview all = overview_of(c);
  if (all.trouble) return all;
  all.advice = "all nodes vote: there is nothing to recover, and nothing was written";
  if (const auto misfit = ttl_above(c->set(), max_ttl); !misfit.empty()) {
    all.advice += ". But " + misfit;
  }
  return all;
}

/// Of what may be said of the URL that which weighs most.
overview all_written(const std::shared_ptr<cluster>& c, duration max_ttl) {
  overview all = overview_of(c);
  if (all.trouble) return all;
  all.advice = ttl_above(c->set(), max_ttl);
  if (all.advice.empty()) all.advice = other_max_ttl(c->set(), max_ttl, "the nodes' records");
  if (all.advice.empty()) all.advice = c->set().even_nodes();
  return all;
}

result<overview> plan_and_write(const std::shared_ptr<cluster>& c, const recover_options& options,
                                const char* verb,
                                result<std::vector<core::redlock::write>> (*plan)(
                                    const founding::config&, std::span<const founding::node>)) {
  if (!c->set().tokens) {
    return error(errc::unsupported,
                 "with tokens=off the nodes keep no records: there is nothing "
                 "to set up or to recover");
  }
  const auto nodes = look_for_founding(c);
  founding::config config;
  config.config_hash = c->set().config_hash;
  config.max_ttl = max_ttl_of(options.max_ttl, *c);
  config.changes_max_ttl = options.max_ttl > duration::zero();
  config.other_list = options.other_list;
  if (config.max_ttl < core::ttl_min || config.max_ttl > core::ttl_max) {
    return core::not_within("max_ttl", config.max_ttl, core::ttl_min, core::ttl_max);
  }
  // As the records keep it: else it would be a change each time.
  config.max_ttl = std::chrono::ceil<std::chrono::milliseconds>(config.max_ttl);
  const auto writes = plan(config, nodes);
  if (!writes) return writes.error();
  if (writes->empty()) return nothing_to_write(c, config.max_ttl);
  // No session has a longer ttl than the nodes allowed.
  const bool shortens = config.max_ttl < kept_max_ttl(*c);
  if (auto may = may_set_max_ttl(c, config.max_ttl, verb, shortens); !may) return may.error();
  const auto failed = write_all(c, *writes);
  for (node_index i = 0; i < c->size(); ++i) c->inspect_again(i);
  wait_ready(c);
  if (!failed.empty()) {
    return not_all_written(*c, verb, config.max_ttl, writes->size(), failed);
  }
  if (shortens) {
    if (auto none = none_came_meanwhile(c, config.max_ttl); !none) return none.error();
  }
  return all_written(c, config.max_ttl);
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

result<overview> init(const std::shared_ptr<cluster>& c, const init_options& options) {
  const recover_options same{.max_ttl = options.max_ttl};
  return plan_and_write(c, same, "init", &founding::plan_init);
}

result<overview> recover(const std::shared_ptr<cluster>& c, const recover_options& options) {
  return plan_and_write(c, options, "recover", &founding::plan_recover);
}

}  // namespace holdfast::engines::redlock
