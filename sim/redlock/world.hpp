#pragma once

#include "sim/host.hpp"
#include "sim/outcome.hpp"
#include "sim/random.hpp"
#include "sim/redlock/node.hpp"
#include "sim/redlock/notes.hpp"
#include "sim/redlock/oracle.hpp"
#include "sim/redlock/scenario.hpp"
#include "sim/schedule.hpp"
#include "sim/trace.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sim::redlock {

class client;
class contender;
class recovery;

/// In ppm: two clocks differ by less than rho then.
constexpr int rate_error = 4000;

struct outcome : sim::outcome {
  std::uint64_t grants_under_faults{};  ///< Until the last fault: then everybody is granted one.
  std::uint64_t rejoins{};

  void add(outcome o) {
    grants_under_faults += o.grants_under_faults;
    rejoins += o.rejoins;
    sim::outcome::add(std::move(o));
  }
  std::string counts() const {
    return sim::outcome::counts() + ", " + std::to_string(grants_under_faults) +
           " of them under faults, " + std::to_string(rejoins) + " rejoins";
  }
};

/// One run from one seed: nodes, clients and faults, in true time.
class world {
 public:
  world(const scenario& s, std::uint64_t seed);
  ~world();
  outcome run();
  void print_all() noexcept { events.print_all(); }

  /// One server and what happens to it.
  struct host {
    node server{};
    std::uint64_t life{1};  ///< Counts processes: a connection ends with its process.
    std::string run_id{};
    bool durable{};
    host_clock wall{};  ///< Its rate is within rho; it steps by `offset`.
    duration offset{};
    moment unreachable_until{};
    bool gone{};
    bool lost{};          ///< It lost state and has not rejoined.
    unsigned rewrites{};  ///< In a row, of a record that was there.
    unsigned suffered{};  ///< So often it may be put out, and was not since.
    bool stepped{};       ///< Its clock did, and it has not rejoined.
    moment stepped_at{};
    bool seen_later{};            ///< Perhaps, by who named a loss or a step then.
    std::string nonce_stepped{};  ///< What it had when its clock stepped.
    std::deque<node::data> older{};
    std::set<std::pair<std::string, std::uint64_t>> recorded{};  ///< Nonces and epochs.
  };

  host& at(core::redlock::node_index i) { return hosts_[i]; }
  const host& at(core::redlock::node_index i) const { return hosts_[i]; }
  std::size_t nodes() const noexcept { return hosts_.size(); }
  server_time wall_of(const host& h) const;
  core::redlock::node_facts facts_of(core::redlock::node_index i) const;
  std::uint64_t fresh() { return ++names_; }
  bool is_far(core::redlock::node_index i) const noexcept {
    return i + static_cast<std::size_t>(setup.far) >= hosts_.size();
  }
  duration way(core::redlock::node_index i);
  /// When what leaves at `from` is there, on a connection whose last one was there at `last`.
  moment arrival(core::redlock::node_index i, moment last, moment from);
  /// Whether that write would let a node with an older state vote with what it has, as one does for
  /// which too few others answer: excluded (docs/safety.md, 4), for nothing repairs it.
  static bool is_excluded(const host& h, const core::redlock::write& w);
  /// A node's record was written, by what was sent then: it may have rejoined.
  void wrote(host& h, const std::optional<node_record>& before, moment sent);
  /// A node is about to be sealed: it may come back without that.
  void sealing(host& h) {
    if (setup.unseals > 0) keep_older(h);
  }
  /// A node's record may have another nonce or epoch.
  static void note_record(host& h) {
    if (h.server.record()) h.recorded.emplace(h.server.record()->nonce, h.server.record()->epoch);
  }
  /// A client goes by this record of a node, and has nothing under way that changes it.
  void took_for_recorded(core::redlock::node_index i, const node_record& r);
  /// A node granted a lock; its answer is not sent yet.
  void granted_by(host& h);
  void judge_grant(const contender& c);
  void judge_holder(const contender& c);
  /// A process ended or was denied: another takes its place.
  void replace(int place);
  bool healed() const noexcept { return healed_; }
  bool closing() const noexcept { return closing_; }

  const scenario setup;
  random dice;
  random disk_dice;  ///< Of its own: what notes take leaves the other faults as they are.
  schedule time;
  trace events;
  oracle judge;

 private:
  duration distance(core::redlock::node_index i) const;
  duration delay();
  void found_nodes();
  void start_client(int place);
  std::size_t others_valid(const contender& c) const;
  /// What a client holds that dies now.
  void watch_what_is_left(const client& c);
  void start_faults();
  void after(duration mean, void (world::*fault)());
  core::redlock::node_index any_node() {
    return static_cast<core::redlock::node_index>(dice.index(hosts_.size()));
  }
  std::size_t host_of(int place) const noexcept {
    return setup.one_user ? 0 : static_cast<std::size_t>(place);
  }
  client& any_client();
  std::size_t disturbed() const;
  void end_life(core::redlock::node_index i);
  void keep_older(host& h);
  void keep_any();
  bool may_lose(const host& h, bool durable) const;
  void lose_state();
  void lose_state_of(core::redlock::node_index i);
  void restore_backup_of(core::redlock::node_index i);
  void join_in();
  void restore_older(host& h);
  void lose_majority();
  void restart_durable();
  void restore_backup();
  void unseal(core::redlock::node_index rejoined);
  void unload_scripts();
  void change_persistence();
  void hang_disk();
  void step_clock();
  void power_cut();
  void outage();
  void outage_of(core::redlock::node_index i);
  void cut();
  void misroute();
  void damage();
  void evict();
  void pause();
  void crash();
  void deny();
  void recover();
  void change_rates();
  void heal();
  void lose_for_good();
  bool everybody_was_granted() const;
  bool all_vote() const;
  duration rest_limit() const noexcept;
  /// Each node as each client sees it.
  std::string roll_call() const;
  void drain();

  std::vector<host> hosts_;
  std::vector<host_clock> client_clocks_;  ///< By host of clients, as are their notes.
  std::vector<notes_file> notes_;
  std::vector<std::unique_ptr<client>> clients_;
  std::vector<std::unique_ptr<client>> ended_;  ///< Their messages are still under way.
  std::unique_ptr<recovery> operator_;
  std::uint64_t deaths_{};
  std::uint32_t sessions_{};
  std::uint64_t names_{};
  std::uint64_t rejoins_{};
  bool healed_{};
  bool closing_{};
};

}  // namespace holdfast::sim::redlock
