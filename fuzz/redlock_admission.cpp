// Any order of losses, restarts, damage, looks, writes and seals: nodes that vote have state and
// one epoch, and who lost its state comes back after its wait, by enough others that kept theirs.
#include "core/redlock/admission.hpp"

#include "core/lease.hpp"
#include "fuzz/target.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace {

using namespace holdfast;
using namespace holdfast::core;
using namespace holdfast::core::redlock;

using standing = admission::standing;

constexpr std::size_t nodes_most = 5;
constexpr duration timeout = std::chrono::milliseconds{50};
constexpr duration shortest = std::chrono::seconds{10};
const std::string list = "list";

/// A server: what it is, what it has, and what it had before.
struct server {
  node_facts is{};
  std::optional<node_record> older{};
  duration offset{std::chrono::hours{400'000}};  ///< Of its clock.
  bool up{};
};

/// What was sent to a node, and what it said, if it has done it.
struct asked {
  std::optional<seal> sealing{};
  std::optional<redlock::write> writing{};
  time_point at{};
  std::optional<seal_reply> sealed{};
  std::optional<write_reply> written{};
};

class run {
 public:
  explicit run(fuzz::bytes in) : in_(in) {
    for (node_index i = 0; i < nodes_; ++i) found(i);
  }

  void all() {
    while (!in_.empty()) event();
  }

 private:
  void found(node_index i) {
    server& n = servers_[i];
    n.is.address = "host" + std::to_string(i);
    n.is.run_id = "run" + std::to_string(i);
    n.is.durable = in_.next() % 2 == 0;
    node_record r;
    r.id = "id" + std::to_string(i);
    r.nonce = "nonce" + std::to_string(i);
    r.epoch = 3;
    r.run_id = n.is.run_id;
    r.floor = 100 + i;
    r.max_ttl = shortest;
    r.config_hash = list;
    r.durable = n.is.durable;
    n.is.record = n.older = r;
  }

  void event() {
    now_ += timeout * (in_.next() % 64) / 16;
    const auto i = static_cast<node_index>(in_.next() % nodes_);
    switch (in_.next() % 16) {
      case 0:
        return fault(i);
      case 1:
        now_ += shortest * (in_.next() % 16) / 8;
        return follow(machine_.tick(now_), true);
      case 2:
        if (!servers_[i].up) return;
        return follow(machine_.doubted(i, now_));
      case 3:
        return disconnect(i);
      case 4:
        return tell_time(i);
      case 5:
      case 6:
      case 7:
        servers_[i].up = true;
        return look(i);
      case 8:
      case 9:
        return follow(machine_.tick(now_), true);
      default:
        return answer(i);
    }
  }

  void fault(node_index i) {
    server& n = servers_[i];
    auto& record = n.is.record;
    switch (in_.next() % 12) {
      case 0:
        return record.reset();
      case 1:
        n.is.run_id = "run" + std::to_string(++names_);
        if (!n.is.durable) record.reset();
        return;
      case 2:
        n.is.durable = !n.is.durable;
        return;
      case 3:
        n.is.master = !n.is.master;
        return;
      case 4:
        n.older = record;
        return;
      case 5:
        n.is.run_id = "run" + std::to_string(++names_);
        record = n.older;
        return;
      case 6:
        n.offset += shortest * (in_.next() - 128);
        return;
      case 7:
        if (record) record->floor = believable + in_.next();
        return;
      case 8:
        if (record) record->epoch = believable + in_.next();
        return;
      case 9:
        if (record) record->config_hash = in_.next() % 2 == 0 ? list : "other";
        return;
      case 10:  // The data of another server, or its name leads to that one.
        record = servers_[in_.next() % nodes_].is.record;
        if (in_.next() % 2 == 0) n.is.run_id = servers_[in_.next() % nodes_].is.run_id;
        return;
      default:
        recover();
    }
  }

  /// Somebody else does, and may allow a longer ttl.
  void recover() {
    const duration longer = shortest * (1 + in_.next() % 4);
    std::uint64_t newest = 0;
    for (const server& n : servers_) {
      if (n.is.record && n.is.record->epoch <= believable)
        newest = std::max(newest, n.is.record->epoch);
    }
    for (node_index i = 0; i < nodes_; ++i) {
      server& n = servers_[i];
      node_record r = n.is.record.value_or(*n.older);
      r.nonce = "recovered" + std::to_string(++names_);
      r.epoch = newest + 1;
      r.kept_epoch = 0;
      r.floor = std::min(r.floor, believable);
      r.run_id = n.is.run_id;
      r.durable = n.is.durable;
      r.max_ttl = longer;
      n.is.record = r;
    }
  }

  server_time clock_of(node_index i) const {
    const auto since = now_.time_since_epoch() + servers_[i].offset;
    return std::chrono::duration_cast<server_time>(since);
  }

  void look(node_index i) {
    node_facts f = servers_[i].is;
    f.asked = now_;
    f.at = f.record ? clock_of(i) : server_time{};
    seen_[i] = f;
    if (f.record) first_seen_.try_emplace(f.record->nonce, now_);
    follow(machine_.looked_at(i, f, "fresh" + std::to_string(++names_), now_));
  }

  void tell_time(node_index i) {
    const time_point sent = now_;
    now_ += timeout / 2;
    follow(machine_.on_time(i, clock_of(i), sent, now_));
  }

  void disconnect(node_index i) {
    for (auto& q = queues_[i]; !q.empty();) answer(i, in_.next() % 2 == 0, true);
    servers_[i].up = false;
    seen_[i].reset();
    follow(machine_.disconnected(i, now_));
  }

  void answer(node_index i) {
    if (queues_[i].empty()) return;
    const std::uint8_t how = in_.next() % 16;
    answer(i, how != 0, how < 2);
  }

  /// The first that is under way there is `done` or not, and its answer `lost` or not.
  void answer(node_index i, bool done, bool lost) {
    asked a = std::move(queues_[i].front());
    queues_[i].pop_front();
    if (a.sealing) {
      const seal_reply said = done ? execute(*a.sealing) : seal_reply{};
      const seal_reply r = lost ? seal_reply{} : said;
      if (r.what == seal_reply::result::sealed) {
        auto& by = sealed_[a.sealing->target][a.sealing->epoch];
        by.floor = std::max(by.floor, r.floor > believable ? 0 : r.floor);
        if (r.floor <= believable) by.nodes.add(i);
      }
      return follow(machine_.sealed(*a.sealing, r, now_));
    }
    const write_reply said = done ? execute(*a.writing) : write_reply::failed;
    const write_reply r = lost ? write_reply::failed : said;
    if (r == write_reply::written) first_seen_.try_emplace(a.writing->record.nonce, now_);
    follow(machine_.written(*a.writing, r, now_));
  }

  seal_reply execute(const seal& x) {
    auto& there = servers_[x.node].is.record;
    if (!there || there->nonce != x.nonce) return {seal_reply::result::refused, 0, 0};
    if (there->epoch >= x.epoch) return {seal_reply::result::refused, 0, there->epoch};
    there->epoch = x.epoch;
    return {seal_reply::result::sealed, there->floor, 0};
  }

  write_reply execute(const redlock::write& w) {
    auto& there = servers_[w.node].is.record;
    const bool same =
        there ? there->nonce == w.nonce_seen && there->epoch == w.epoch_seen : w.nonce_seen.empty();
    if (!same) return write_reply::changed;
    const std::uint64_t floor = there && there->floor <= believable ? there->floor : 0;
    there = w.record;
    there->floor = std::max(there->floor, floor);
    there->last_time = clock_of(w.node);
    return write_reply::written;
  }

  void follow(const admission::step& s, bool ticked = false) {
    MUST(!ticked || s.wake > now_);
    for (const seal& x : s.seals) check(x);
    for (const redlock::write& w : s.writes) check(w);
    for (const seal& x : s.seals) queues_[x.node].push_back({.sealing = x, .at = now_});
    for (const redlock::write& w : s.writes) queues_[w.node].push_back({.writing = w, .at = now_});
    check_votes();
    for_each(s.look, [&](node_index i) {
      if (servers_[i].up) look(i);
    });
  }

  /// What was read of it last says that it lost nothing, as far as that can be told.
  bool kept_state(node_index i) const {
    const auto& f = seen_[i];
    return f && f->record && is_believable(*f->record) && f->record->config_hash == list &&
           f->master && (f->record->run_id == f->run_id || (f->record->durable && f->durable));
  }

  void check(const seal& x) {
    MUST(x.epoch > 0 && x.epoch <= believable);
    MUST(seen_[x.node] && seen_[x.node]->record);
    if (x.target == x.node) return;
    MUST(x.epoch > machine_.facts_of(x.node).record->epoch);
    const auto& record = machine_.facts_of(x.target).record;
    MUST(record);
    if (record->epoch > 0) return;
    // Floors are read when whoever was granted before the loss is over, and of nobody who may have
    // read an older file since.
    MUST(has_waited(*record));
    const auto& by = machine_.facts_of(x.node);
    MUST(by.record->run_id == by.run_id);
  }

  duration longest_max_ttl() const {
    duration longest{};
    for (node_index i = 0; i < nodes_; ++i) {
      const auto& record = machine_.facts_of(i).record;
      if (record && machine_.standing_of(i) != standing::refused)
        longest = std::max(longest, record->max_ttl);
    }
    return longest;
  }

  bool has_waited(const node_record& r) const {
    const auto since = first_seen_.find(r.nonce);
    return since != first_seen_.end() && now_ >= since->second + takeover_after(r.max_ttl);
  }

  void check(const redlock::write& w) {
    const node_record& r = w.record;
    MUST(r.floor <= believable && r.epoch <= believable && r.kept_epoch <= believable);
    if (r.epoch == 0) {
      // Of each loss it is known which it was.
      MUST(r.kept_epoch == 0 || kept_state(w.node));
      MUST(marks_.insert(r.nonce).second && r.nonce.starts_with("fresh"));
      return;
    }
    MUST(r.nonce == w.nonce_seen && r.epoch >= w.epoch_seen);
    if (w.epoch_seen != 0) return MUST(kept_state(w.node) || r.epoch > w.epoch_seen);
    MUST(has_waited(r));
    const auto& before = machine_.facts_of(w.node).record;
    const bool alone = before && before->kept_epoch > 0 && r.epoch == before->kept_epoch;
    if (alone) return;
    MUST(before && r.max_ttl >= longest_max_ttl());
    const auto by = sealed_[w.node].find(r.epoch);
    MUST(by != sealed_[w.node].end() && by->second.nodes.size() >= seal_count(nodes_));
    MUST(!by->second.nodes.has(w.node) && r.floor >= by->second.floor);
  }

  void check_votes() {
    const node_set voters = machine_.voters();
    MUST(voters.empty() || machine_.epoch() > 0);
    for_each(voters, [&](node_index i) {
      const auto& f = machine_.facts_of(i);
      MUST(servers_[i].up && seen_[i] && f.master && f.record);
      MUST(f.record->epoch == machine_.epoch() && f.record->config_hash == list);
      MUST(is_believable(*f.record) && f.record->run_id == f.run_id);
      MUST(machine_.ballot_of(i).nonce == f.record->nonce && !f.record->nonce.empty());
    });
    MUST((voters - machine_.keepers()).empty());
    std::set<std::string> servers;
    for_each(voters,
             [&](node_index i) { MUST(servers.insert(machine_.facts_of(i).run_id).second); });
    // Whatever is said of it, there are words.
    for (node_index i = 0; i < nodes_; ++i) {
      MUST(voters.has(i) || !machine_.explain(i, now_).empty());
    }
    const auto verdict = machine_.verdict(now_);
    MUST(verdict || (voters.size() < majority(nodes_) && !verdict.error().message().empty()));
  }

  struct seals_of_one {
    node_set nodes{};
    std::uint64_t floor{};
  };
  fuzz::bytes in_;
  const std::size_t nodes_{1 + in_.next() % nodes_most};
  time_point now_{std::chrono::hours{1}};
  admission machine_{{.nodes = nodes_,
                      .max_ttl = shortest,
                      .timeout = timeout,
                      .config_hash = list,
                      .seed = in_.next()}};
  std::array<server, nodes_most> servers_{};
  std::array<std::deque<asked>, nodes_most> queues_{};
  std::array<std::optional<node_facts>, nodes_most> seen_{};
  std::array<std::map<std::uint64_t, seals_of_one>, nodes_most> sealed_{};
  std::map<std::string, time_point> first_seen_{};
  std::set<std::string> marks_{};
  std::uint64_t names_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run(fuzz::bytes(data, size)).all();
  return 0;
}
