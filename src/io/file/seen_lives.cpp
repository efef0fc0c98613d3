#include "io/file/seen_lives.hpp"

#include "io/process/per_store.hpp"

namespace holdfast::io {

namespace {

using core::redlock::life_notes;

constinit per_store<life_notes> lives_of_stores;

}  // namespace

void remember_lives(const std::string& notes, const life_notes& seen) {
  lives_of_stores.change(notes, [&seen](life_notes& lives) {
    lives.recall(seen.sights());
    lives.keep_newest(life_notes::notes_max);
  });
}

life_notes lives_seen(const std::string& notes) { return lives_of_stores.get(notes); }

}  // namespace holdfast::io
