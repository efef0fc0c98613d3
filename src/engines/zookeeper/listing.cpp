#include "engines/zookeeper/listing.hpp"

#include "core/fnv1a.hpp"
#include "core/replies.hpp"
#include "engines/zookeeper/codec.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::zookeeper {

using core::status;

namespace {

// Of one reading: the children of `s` and of `q`, then two answers for each session, then one for
// each queue.
constexpr std::size_t the_sessions = 0;
constexpr std::size_t the_queues = 1;
constexpr std::size_t first_session = 2;

}  // namespace

listing::listing(std::shared_ptr<store> s, core::on<core::listing> done)
    : store_(std::move(s)),
      done_(std::move(done)),
      limit_(clock::now() + 4 * store_->servers().set().node_timeout) {}

void listing::refuse(core::reply why) { done_(core::reply_with<core::listing>(std::move(why))); }

void listing::read() {
  const auto& where = store_->where();
  std::vector<zoo_request> once{children_of(where.sessions()), children_of(where.queues())};
  for (const auto& id : sessions_) {
    once.push_back(get(where.session(id)));
    once.push_back(get(where.gate(id)));
  }
  for (const auto& node : queues_) once.push_back(children_of(where.queues() + "/" + node));
  std::vector<zoo_request> questions{sync(where.root())};
  questions.insert(questions.end(), once.begin(), once.end());
  questions.insert(questions.end(), once.begin(), once.end());
  store_->servers().send(std::move(questions), repeat::always,
                         [self = shared_from_this()](const batch_result& l) { self->took(l); });
}

void listing::took(const batch_result& l) {
  if (l.what != status::ok) return refuse(core::reply_as(status::unavailable, l));
  // The second reading.
  batch_result last;
  const auto count = (l.replies.size() - 1) / 2;
  last.replies.assign(l.replies.end() - static_cast<std::ptrdiff_t>(count), l.replies.end());
  if (!last.replies[the_sessions].ok() || !last.replies[the_queues].ok()) {
    store_->servers().doubt_store();
    return refuse({status::unavailable, "the store's own nodes are not there"});
  }
  auto ids = sessions_;
  auto queues = queues_;
  learn(last);
  if (ids == sessions_ && queues == queues_ && is_one_moment(l)) return read_entries(last);
  again();
}

void listing::again() {
  if (clock::now() < limit_) return read();
  refuse({status::unavailable, "the store changes faster than it can be read; try again"});
}

bool listing::is_one_moment(const batch_result& l) const {
  const auto count = (l.replies.size() - 1) / 2;
  std::int64_t first = 0;
  std::int64_t second = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (l.replies[1 + i].code != l.replies[1 + count + i].code) return false;
    first = std::max(first, change_of(i, l.replies[1 + i]));
    second = std::max(second, change_of(i, l.replies[1 + count + i]));
  }
  return second <= first;
}

/// The transaction of the last change of the picture that a reply of one reading tells. Of a
/// session's record no heartbeat counts: among many sessions there always is one between two
/// readings. A denial does, for `allowed` goes with it.
std::int64_t listing::change_of(std::size_t at, const zoo_reply& r) const {
  if (!r.ok()) return 0;
  const bool is_gate = at >= first_session && at < first_session + 2 * sessions_.size() &&
                       (at - first_session) % 2 != 0;
  // Of nodes with children only these count: their data tells nothing.
  return is_gate ? r.stat.modified : std::max(r.stat.created, r.stat.children_changed);
}

void listing::learn(const batch_result& l) {
  sessions_.clear();
  for (const auto& node : l.replies[the_sessions].names) {
    // What is not a session's id is nobody's that could hold a lock.
    if (const auto id = session_id::parse(node)) sessions_.push_back(*id);
  }
  queues_ = l.replies[the_queues].names;
  std::ranges::sort(sessions_);
  std::ranges::sort(queues_);
}

void listing::read_entries(const batch_result& l) {
  all_ = {};
  all_.what = status::ok;
  entries_.clear();
  incs_.clear();
  std::int64_t change = 0;
  for (std::size_t i = 0; i < l.replies.size(); ++i) {
    change = std::max(change, change_of(i, l.replies[i]));
  }
  std::uint64_t beats = 0;
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    const auto& gate = l.replies[first_session + 2 * i + 1];
    auto record = record_in(sessions_[i], l.replies[first_session + 2 * i]);
    if (!record) {
      return refuse(damaged("s/" + sessions_[i].str()));
    }
    record->gate = gate_in(gate);
    incs_.emplace(record->id, record->at.inc);
    beats += record->at.beat;
    all_.sessions.push_back(std::move(*record));
  }
  // A beat may be newer than the moment, and than a change that is not in the picture: the newest
  // transaction of all of it would not differ from that of the picture with the change.
  all_.revision = core::fnv1a(std::to_string(change) + " " + std::to_string(beats));
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (take_queue(queues_[i], l.replies[first_session + 2 * sessions_.size() + i].names)) continue;
    return refuse(damaged("q/" + queues_[i]));
  }
  std::vector<std::size_t> unknown;
  std::vector<zoo_request> questions;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].facts.order.value != 0) continue;
    unknown.push_back(i);
    questions.push_back(get(entries_[i].path));
  }
  if (unknown.empty()) return answer();
  store_->servers().send(std::move(questions), repeat::always,
                         [self = shared_from_this(), unknown](const batch_result& answers) {
                           self->took_entries(unknown, answers);
                         });
}

/// False: what is there is not ours.
bool listing::take_queue(const std::string& node, const std::vector<std::string>& entries) {
  const auto name = parse_queue(node);
  const queue_names names(entries);
  if (!name || !names.damage().empty()) return false;
  core::listed_lock lock{*name, {}};
  const std::string queue = store_->where().queues() + "/" + node + "/";
  for (const auto& e : names.all()) {
    const auto owner = incs_.find(e.what.owner);
    if (owner == incs_.end() || owner->second != e.what.inc) continue;
    const std::string path = queue + e.node;
    const auto* known = store_->facts_of(path);
    lock.entries.push_back(e.what);
    entries_.push_back({path, known != nullptr ? *known : entry_facts{}});
  }
  if (!lock.entries.empty()) all_.locks.push_back(std::move(lock));
  return true;
}

void listing::took_entries(const std::vector<std::size_t>& unknown, const batch_result& l) {
  if (l.what != status::ok) return refuse(core::reply_as(status::unavailable, l));
  bool left = false;
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    const auto& r = l.replies[i];
    auto& e = entries_[unknown[i]];
    left = left || !r.ok();
    if (!r.ok()) continue;
    const auto since = decode_entry(r.data);
    e.facts = {token_of(r.stat.created), since.value_or(wall_time{})};
    if (!since || e.facts.order.value == 0) {
      return refuse(damaged(e.path));
    }
    store_->keep_facts(e.path, e.facts);
  }
  // What has left meanwhile belongs to an earlier picture.
  if (left) return again();
  answer();
}

void listing::answer() {
  std::size_t at = 0;
  for (auto& lock : all_.locks) {
    for (auto& e : lock.entries) {
      const auto& facts = entries_[at++].facts;
      e.order = facts.order;
      e.since = facts.since;
    }
  }
  std::ranges::sort(all_.locks, {}, [](const core::listed_lock& l) { return l.name; });
  done_(std::move(all_));
}

}  // namespace holdfast::engines::zookeeper
