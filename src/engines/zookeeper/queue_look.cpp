#include "engines/zookeeper/queue_look.hpp"

#include "core/queue.hpp"
#include "core/replies.hpp"
#include "engines/zookeeper/codec.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace holdfast::engines::zookeeper {

using core::status;

queue_names::queue_names(const std::vector<std::string>& nodes) {
  all_.reserve(nodes.size());
  for (const auto& node : nodes) {
    auto e = named_entry::parse(node);
    if (e) all_.push_back(std::move(*e));
    if (!e) damage_ = node;
  }
  if (all_.empty()) return;
  // From one place on, for of entries that are far apart each may be "older" than the next.
  const named_entry from = all_.front();
  std::ranges::sort(all_, {}, [&](const named_entry& e) { return e.arrivals_after(from); });
}

const named_entry* queue_names::find(const session_id& id, std::uint64_t inc,
                                     std::uint64_t request) const {
  const auto at = std::ranges::find_if(all_, [&](const named_entry& e) {
    return e.what.request == request && e.what.inc == inc && e.what.owner == id;
  });
  return at == all_.end() ? nullptr : &*at;
}

const named_entry* queue_names::find(const std::string& node) const {
  const auto at = std::ranges::find(all_, node, &named_entry::node);
  return at == all_.end() ? nullptr : &*at;
}

std::vector<named_entry> queue_names::older_than(const named_entry& mine) const {
  std::vector<named_entry> older;
  for (const auto& e : all_) {
    const std::int32_t after = e.arrivals_after(mine);
    if (after < 0 || after >= arrivals_told) older.push_back(e);
  }
  return older;
}

bool surely_granted(const std::vector<named_entry>& older, const mode& how) {
  // Dead ones count as well here: with so many it has to be seen who lives.
  if (older.size() >= core::waiters_max) return false;
  std::vector<core::entry> all;
  all.reserve(older.size() + 1);
  for (const auto& e : older) {
    all.push_back(e.what);
    all.back().order = token{all.size()};
  }
  if (!core::fits(all, how)) return false;
  const token mine{all.size() + 1};
  all.push_back({.order = mine, .how = how});
  return core::granted(all, mine);
}

namespace {

/// One look under way.
struct looking {
  std::vector<named_entry> entries;
  std::vector<std::string> paths;
  std::vector<entry_facts> known;     ///< For each entry; without an order: not known.
  std::vector<std::size_t> facts_at;  ///< In the replies, for each entry that is not known.
  std::map<session_id, std::size_t> owners_at;
};

/// False: the entry is gone.
bool take_facts(store& s, const looking& l, std::size_t i, const batch_result& answers,
                core::entry& e, std::string& damage) {
  e.order = l.known[i].order;
  e.since = l.known[i].since;
  if (e.order.value != 0) return true;
  const auto& r = answers.replies[l.facts_at[i]];
  if (!r.ok()) return false;
  const auto since = decode_entry(r.data);
  e.order = token_of(r.stat.created);
  if (!since || e.order.value == 0) {
    damage = l.paths[i];
    return false;
  }
  e.since = *since;
  s.keep_facts(l.paths[i], {e.order, e.since});
  return true;
}

queue_picture picture_of(store& s, const looking& l, const batch_result& answers) {
  queue_picture p;
  std::string damage;
  for (const auto& [id, at] : l.owners_at) {
    const auto& r = answers.replies[at];
    auto record = record_in(id, r);
    if (r.ok() && !record) damage = s.where().session(id);
    if (record) p.sessions.emplace(id, std::move(*record));
  }
  std::vector<std::string> dead;
  for (std::size_t i = 0; i < l.entries.size(); ++i) {
    core::entry e = l.entries[i].what;
    const auto owner = p.sessions.find(e.owner);
    if (owner == p.sessions.end() || owner->second.at.inc != e.inc) {
      // For good: a record's node is never made again, and the server had caught up before it was
      // asked.
      dead.push_back(l.paths[i]);
      continue;
    }
    if (!take_facts(s, l, i, answers, e, damage)) continue;
    p.nodes.emplace(e.order, l.entries[i].node);
    p.live.push_back(e);
  }
  if (!damage.empty()) {
    static_cast<core::reply&>(p) = damaged(damage);
    return p;
  }
  std::ranges::sort(p.live, {}, &core::entry::order);
  s.sweep(std::move(dead));
  if (l.entries.empty()) return p;
  const auto oldest = p.sessions.find(l.entries.front().what.owner);
  if (oldest != p.sessions.end()) oldest->second.gate = gate_in(answers.replies.back());
  return p;
}

/// The oldest that is alive may be another than the oldest.
void with_first_gate(const std::shared_ptr<store>& s, queue_picture p,
                     const std::function<void(queue_picture)>& done) {
  if (p.live.empty()) return done(std::move(p));
  const auto first = p.live.front().owner;
  if (p.sessions.at(first).gate != 0) return done(std::move(p));
  s->servers().send({get(s->where().gate(first))}, repeat::always,
                    [p = std::move(p), first, done](const batch_result& l) mutable {
                      if (l.what == status::ok) p.sessions.at(first).gate = gate_in(l.replies[0]);
                      done(std::move(p));
                    });
}

}  // namespace

void look_at(const std::shared_ptr<store>& s, const lock_name& name,
             std::vector<named_entry> entries, std::function<void(queue_picture)> done) {
  const auto l = std::make_shared<looking>();
  l->entries = std::move(entries);
  // A server that lags knows entries whose sessions it does not know yet: those would be taken for
  // dead.
  std::vector<zoo_request> questions{sync(s->where().sessions())};
  const std::string queue = s->where().queue(name) + "/";
  for (const auto& e : l->entries) {
    l->paths.push_back(queue + e.node);
    const auto* known = s->facts_of(l->paths.back());
    l->known.push_back(known != nullptr ? *known : entry_facts{});
    l->facts_at.push_back(questions.size());
    if (known == nullptr) questions.push_back(get(l->paths.back()));
  }
  for (const auto& e : l->entries) {
    if (!l->owners_at.emplace(e.what.owner, questions.size()).second) continue;
    questions.push_back(get(s->where().session(e.what.owner)));
  }
  if (!l->entries.empty()) {
    // The oldest one's record is shown as a whole.
    questions.push_back(get(s->where().gate(l->entries.front().what.owner)));
  }
  s->servers().send(std::move(questions), repeat::always,
                    [s, l, done = std::move(done)](const batch_result& answers) {
                      if (answers.what != status::ok) {
                        queue_picture p;
                        static_cast<core::reply&>(p) = core::reply_as(status::unavailable, answers);
                        return done(std::move(p));
                      }
                      with_first_gate(s, picture_of(*s, *l, answers), done);
                    });
}

void look_at_older(const std::shared_ptr<store>& s, const lock_name& name,
                   std::vector<named_entry> older, token mine,
                   std::function<void(queue_picture)> done) {
  look_at(s, name, std::move(older), [mine, done = std::move(done)](queue_picture p) {
    std::erase_if(p.live, [&](const core::entry& e) { return e.order > mine; });
    done(std::move(p));
  });
}

bool used_otherwise(const queue_picture& p, const mode& how) noexcept {
  return !p.live.empty() && !core::agrees(p.live.front().how, how);
}

core::queue_view view_of(const queue_picture& p, core::entry mine) {
  core::queue_view v;
  auto all = p.live;
  all.push_back(mine);
  v.mine = mine.order;
  const auto other = std::find_if(p.live.rbegin(), p.live.rend(), [&](const core::entry& e) {
    return !core::agrees(e.how, mine.how);
  });
  // Nothing is granted past an entry of another mode: it is about to withdraw, but it may have been
  // granted itself when the older ones ended.
  if (other == p.live.rend() && core::granted(all, mine.order)) {
    v.what = status::ok;
    return v;
  }
  v.what = status::queued;
  v.targets =
      other != p.live.rend() ? std::vector{other->order} : core::watch_targets(all, mine.order);
  v.ahead.reserve(p.live.size());
  for (const core::entry& e : p.live) {
    const core::session_record& s = p.sessions.at(e.owner);
    if (!v.first) v.first = std::make_shared<const core::session_record>(s);
    v.ahead.push_back(core::rival_of(e, s));
  }
  return v;
}

std::vector<std::string> nodes_of(const store& s, const lock_name& name, const queue_picture& p,
                                  const std::vector<token>& targets) {
  std::vector<std::string> nodes;
  const std::string queue = s.where().queue(name) + "/";
  for (const core::entry& e : p.live) {
    if (std::ranges::find(targets, e.order) == targets.end()) continue;
    nodes.push_back(queue + p.nodes.at(e.order));
    // A session's own node changes with every beat.
    nodes.push_back(s.where().gate(e.owner));
  }
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace holdfast::engines::zookeeper
