#pragma once

#include "core/redlock/admission.hpp"
#include "sim/redlock/node.hpp"
#include "sim/redlock/notes.hpp"
#include "sim/schedule.hpp"

#include <functional>

namespace holdfast::sim::redlock {

class client;

/// Drives one client's admission: looks at nodes, does the seals and writes it asks for, and opens
/// the session wherever it votes.
class roster {
 public:
  using node_index = core::redlock::node_index;
  using node_set = core::redlock::node_set;

  roster(client& of, notes_file& notes);

  /// Reads clocks and nodes again and again.
  void poll();
  void look(node_index i);
  void disconnected(node_index i);
  void doubted(node_index i);
  void told_time(node_index i, server_time at, time_point sent);
  void session_missing(node_index i);
  void kept(const core::redlock::life_notes& asked, const core::redlock::life_notes& there);

  node_set voters() const noexcept { return admission_.voters(); }
  /// Voters, and those of an older epoch.
  node_set intact() const noexcept;
  /// Those that extend what they have, and are doubted by what they answer.
  node_set keepers() const noexcept { return admission_.keepers(); }
  std::uint64_t epoch() const noexcept { return admission_.epoch(); }
  node::ballot ballot_of(node_index i) const { return admission_.ballot_of(i); }
  std::string explain(node_index i) const;
  core::redlock::admission::standing standing_of(node_index i) const noexcept {
    return admission_.standing_of(i);
  }
  const core::redlock::node_facts& facts_of(node_index i) const { return admission_.facts_of(i); }
  /// Of somebody else than admission; `done` is not called once the connection is another one.
  void write(const core::redlock::write& w, std::function<void(core::redlock::write_reply)> done);

 private:
  using step = core::redlock::admission::step;
  enum class occasion : bool { needed, passing };
  void look(node_index i, occasion why);
  void read_clock(node_index i);
  std::string name_of_loss(node_index i);
  void serve(const step& s);
  void judge();
  void write(const core::redlock::write& w);
  void seal(const core::redlock::seal& s);
  duration patience() const noexcept;
  void open_where_missing();
  void tick_at(time_point when);

  client& of_;
  core::redlock::admission admission_;
  note_writer notes_;
  node_set opened_;
  time_point tick_{time_point::max()};
  node_index turn_{};
};

}  // namespace holdfast::sim::redlock
