#include "sim/redlock/notes.hpp"

#include "sim/redlock/client.hpp"

#include <algorithm>

namespace holdfast::sim::redlock {

using namespace std::chrono_literals;

namespace {

/// The program's five seconds, for shorter ttls.
constexpr duration again_after = 200ms;

constexpr duration way_most = 20ms;  ///< To the disk or back.

}  // namespace

core::redlock::life_notes notes_file::keep(const life_notes& notes, disk is, time_point now) {
  if (is == disk::works) {
    there.add(notes, now);
  } else if (is == disk::full && there.overstate(notes)) {
    there = {};
  }
  return there;
}

note_writer::note_writer(client& of, notes_file& file)
    : of_(of), file_(file), wanted_(file.there) {}

void note_writer::keep(const life_notes& notes) {
  if (notes == wanted_) return;
  wanted_ = notes;
  pending_ = true;
  if (!writing_) begin();
}

void note_writer::begin() {
  world& w = of_.of();
  writing_ = true;
  pending_ = false;
  const auto asked = std::make_shared<const life_notes>(wanted_);
  w.time.at(w.time.now() + w.disk_dice.between(100us, way_most),
            [this, asked] { reach_disk(asked); });
}

/// A process that is killed ends with what it asked of the disk; mostly it did not ask yet.
void note_writer::reach_disk(const std::shared_ptr<const life_notes>& asked) {
  world& w = of_.of();
  const moment then = std::max(file_.hangs_until, of_.stands_still_until());
  if (w.time.now() < then) return w.time.at(then, [this, asked] { reach_disk(asked); });
  if (of_.is_dead() && w.disk_dice.chance(700'000)) return;
  using disk = notes_file::disk;
  const bool fails = !w.healed() && w.disk_dice.chance(w.setup.disk_failures);
  const disk is = !fails ? disk::works : w.disk_dice.chance(700'000) ? disk::full : disk::read_only;
  const life_notes there = file_.keep(*asked, is, of_.local());
  if (of_.is_dead()) return;
  answered_ = std::max(answered_, w.time.now() + w.disk_dice.between(100us, way_most));
  of_.post(answered_, [this, asked, there] { of_.nodes().kept(*asked, there); });
  if (fails) {
    of_.post(w.time.now() + again_after, [this] {
      pending_ = true;
      if (!writing_) begin();
    });
  }
  writing_ = false;
  if (pending_) begin();
}

}  // namespace holdfast::sim::redlock
