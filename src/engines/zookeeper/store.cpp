#include "engines/zookeeper/store.hpp"

#include "core/assert.hpp"
#include "core/replies.hpp"
#include "engines/zookeeper/codec.hpp"
#include "io/thread/random.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

using core::status;

// What is only kept to save questions is dropped as a whole when there is too much of it.
constexpr std::size_t facts_max = 65'536;
constexpr std::size_t sights_max = 4'096;
constexpr std::size_t names_at_once = 32;

}  // namespace

core::reply damaged(const std::string& node) {
  return {status::damaged,
          "the node " + lock_name(node).printable() + " is not of holdfast, or of a newer one"};
}

std::optional<core::session_record> record_in(const session_id& id, const zoo_reply& r) {
  if (!r.ok()) return {};
  auto record = decode_session(r.data);
  if (!record) return {};
  record->id = id;
  record->at.inc = static_cast<std::uint64_t>(r.stat.created);
  // The denial was the last change, and no beat.
  record->at.beat = static_cast<std::uint32_t>(r.stat.version) - (record->at.denied ? 1 : 0);
  return record;
}

std::uint64_t gate_in(const zoo_reply& r) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(r.stat.version)) + 1;
}

core::reply judge(const session_id& id, std::uint64_t inc, const zoo_reply& r) {
  const auto record = record_in(id, r);
  if (r.ok() && !record) return damaged("s/" + id.str());
  if (!record || record->at.inc != inc) {
    return {status::gone, core::no_session_text(id)};
  }
  if (record->at.denied) return {status::denied, core::denial_text(*record)};
  return {status::ok, {}};
}

// ---- sessions ----

void store::keep_session(const core::session_record& record) {
  sessions_.insert_or_assign(record.id, record);
}

void store::forget_session(const session_id& id) {
  sessions_.erase(id);
  newest_request_.erase(id);
}

bool store::is_new(const session_id& id, std::uint64_t request) {
  auto& newest = newest_request_[id];
  if (request <= newest) return false;
  newest = request;
  return true;
}

void store::with_session(const session_id& id, std::uint64_t inc,
                         std::function<void(const core::session_record&)> then,
                         std::function<void(core::reply)> otherwise) {
  const auto decide = [id, inc, then, otherwise](const core::session_record& s) {
    if (s.at.inc == inc) return then(s);
    otherwise({status::gone, core::no_session_text(id)});
  };
  const auto known = sessions_.find(id);
  if (known != sessions_.end()) {
    // A copy, for what is called may forget the session.
    const auto record = known->second;
    return decide(record);
  }
  servers_->send({sync(where().sessions()), get(where().session(id))}, repeat::always,
                 [self = shared_from_this(), id, inc, decide, otherwise](const batch_result& l) {
                   if (l.what != status::ok) return otherwise(l);
                   const auto record = record_in(id, l.replies[1]);
                   if (!record) return otherwise(judge(id, inc, l.replies[1]));
                   self->keep_session(*record);
                   decide(*record);
                 });
}

void store::refusal(const session_id& id, std::uint64_t inc,
                    std::function<void(core::reply)> done) {
  servers_->send({sync(where().sessions()), get(where().session(id))}, repeat::always,
                 [self = shared_from_this(), id, inc, done](const batch_result& l) {
                   if (l.what != status::ok) return done(l);
                   auto verdict = judge(id, inc, l.replies[1]);
                   if (verdict.what == status::gone) self->forget_session(id);
                   done(std::move(verdict));
                 });
}

// ---- own entries ----

void store::keep(const session_id& id, token order, std::string path) {
  // After a restore of the servers' data orders come again: who had this one has it no more.
  const auto before = own_.find(order.value);
  if (before != own_.end()) forget(session_id{before->second.owner}, order);
  own_.insert_or_assign(order.value, own_entry{id, std::move(path), {}});
  orders_[id].insert(order.value);
}

void store::keep_targets(token order, std::vector<std::string> nodes) {
  const auto own = own_.find(order.value);
  if (own != own_.end()) own->second.targets = std::move(nodes);
}

void store::forget(const session_id& id, token order) {
  const auto own = own_.find(order.value);
  if (own == own_.end() || own->second.owner != id) return;
  own_.erase(own);
  const auto at = orders_.find(id);
  HOLDFAST_ASSERT(at != orders_.end() && at->second.contains(order.value));
  at->second.erase(order.value);
  if (at->second.empty()) orders_.erase(at);
}

std::vector<std::string> store::forget_all(const session_id& id) {
  std::vector<std::string> all;
  const auto at = orders_.find(id);
  if (at == orders_.end()) return all;
  for (const auto order : at->second) {
    const auto own = own_.find(order);
    HOLDFAST_ASSERT(own != own_.end() && own->second.owner == id);
    all.push_back(std::move(own->second.path));
    own_.erase(own);
  }
  orders_.erase(at);
  return all;
}

std::string store::path_of(token order) const {
  const auto at = own_.find(order.value);
  return at == own_.end() ? std::string() : at->second.path;
}

std::vector<std::string> store::targets_of(token order) const {
  const auto at = own_.find(order.value);
  return at == own_.end() ? std::vector<std::string>() : at->second.targets;
}

// ---- everybody's ----

const entry_facts* store::facts_of(const std::string& path) const {
  const auto found = facts_.find(path);
  return found == facts_.end() ? nullptr : &found->second;
}

void store::keep_facts(const std::string& path, const entry_facts& facts) {
  if (facts_.size() >= facts_max) facts_.clear();
  facts_.insert_or_assign(path, facts);
}

const queue_sight* store::sight_of(const lock_name& name) const {
  const auto found = sights_.find(name);
  return found == sights_.end() ? nullptr : &found->second;
}

void store::keep_sight(const lock_name& name, const queue_sight& sight) {
  if (sights_.size() >= sights_max) sights_.clear();
  sights_.insert_or_assign(name, sight);
}

// ---- sweeping ----

void store::sweep(std::vector<std::string> nodes) {
  if (nodes.empty()) return;
  if (nodes.size() > sweep_max) nodes.resize(sweep_max);
  std::vector<zoo_request> removals;
  for (auto& node : nodes) {
    facts_.erase(node);
    removals.push_back(remove(std::move(node)));
  }
  // One that somebody else has removed meanwhile keeps all others: they are met again.
  std::vector<zoo_request> one;
  one.push_back(all_or_none(std::move(removals)));
  servers_->send(std::move(one), repeat::always, [](const batch_result&) {});
}

void store::opened() {
  // Also the first time: whoever comes clears away, and most programs open one session.
  constexpr unsigned every = 16;
  if (opened_++ % every == 0) sweep_some();
}

void store::sweep_some() {
  if (std::exchange(sweeping_, true)) return;
  servers_->send({children_of(where().queues())}, repeat::always,
                 [self = shared_from_this()](batch_result l) {
                   self->sweeping_ = false;
                   if (l.what != status::ok || !l.replies[0].ok()) return;
                   self->took_names(std::move(l.replies[0].names));
                 });
}

void store::took_names(std::vector<std::string> names) {
  std::ranges::sort(names);
  // Most programs open one session: each begins somewhere else, or none would come to the last.
  if (!std::exchange(has_swept_, true) && names.size() > names_at_once) {
    sweep_behind_ = names[io::random_bits() % names.size()];
  }
  const auto first = std::ranges::upper_bound(names, sweep_behind_);
  std::vector<std::string> some(first, names.end());
  if (some.size() > names_at_once) some.resize(names_at_once);
  sweep_behind_ = some.size() < names_at_once ? std::string() : some.back();
  if (some.empty()) return;
  std::vector<zoo_request> questions;
  for (const auto& name : some) questions.push_back(children_of(where().queues() + "/" + name));
  servers_->send(std::move(questions), repeat::always,
                 [self = shared_from_this(), some](const batch_result& l) {
                   if (l.what == status::ok) self->took_queues(some, l);
                 });
}

void store::took_queues(const std::vector<std::string>& queues, const batch_result& l) {
  struct found {
    std::string path;
    session_id owner;
    std::uint64_t inc;
  };
  std::vector<found> entries;
  std::map<session_id, std::size_t> owners;
  // Behind the entries: whoever has one had a session before, which the server knows after a sync.
  // So a session that is not there is gone.
  std::vector<zoo_request> questions{sync(where().sessions())};
  for (std::size_t i = 0; i < queues.size(); ++i) {
    for (const auto& node : l.replies[i].names) {
      const auto e = named_entry::parse(node);
      if (!e) continue;
      entries.push_back(
          {where().queues() + "/" + queues[i] + "/" + node, e->what.owner, e->what.inc});
      if (!owners.emplace(e->what.owner, questions.size()).second) continue;
      questions.push_back(get(where().session(e->what.owner)));
    }
  }
  if (entries.empty()) return;
  servers_->send(std::move(questions), repeat::always,
                 [self = shared_from_this(), entries, owners](const batch_result& answers) {
                   if (answers.what != status::ok) return;
                   std::vector<std::string> dead;
                   for (const auto& e : entries) {
                     const auto& r = answers.replies[owners.at(e.owner)];
                     const bool there =
                         r.ok() && static_cast<std::uint64_t>(r.stat.created) == e.inc;
                     if (!there) dead.push_back(e.path);
                   }
                   self->sweep(std::move(dead));
                 });
}

}  // namespace holdfast::engines::zookeeper
