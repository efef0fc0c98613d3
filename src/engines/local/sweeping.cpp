#include "engines/local/sweeping.hpp"

#include "io/process/life.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace holdfast::engines::local {
namespace {

constexpr std::size_t lives_at_once = 256;
// A write of few changes needs few new pages: there are not many left.
constexpr std::size_t sessions_in_a_write = 16;
constexpr std::size_t entries_in_a_write = 500;
constexpr std::size_t sweeps_at_once = 40;

void delete_dead(environment& store, std::span<const io::free_life> lives) {
  std::vector<session_id> dead;
  const failure failed = store.write([&](transaction& txn, wake_list& wakes) {
    dead.clear();
    for (const io::free_life& one : lives) {
      const auto record = find_head(txn, one.id);
      // A copy of the file is free while its session lives.
      if (record && record->where != one.where) continue;
      wakes.everybody = txn.erase(session_key(one.id).view()) || wakes.everybody;
      dead.push_back(one.id);
    }
  });
  if (failed) return;
  const std::string directory = store.place().where().at(file::life);
  for (const session_id& id : dead) io::remove_life(directory, id);
}

}  // namespace

swept sweep_on(transaction& txn, std::size_t most) {
  const key k = own_key("sweep");
  const bytes kept = txn.get(k.view());
  const std::vector<std::byte> from(kept.begin(), kept.end());
  auto did = sweep_some(txn, from, most);
  if (!did.next.empty()) {
    txn.put(k.view(), did.next);
  } else if (!from.empty()) {
    (void)txn.erase(k.view());
  }
  return did;
}

void sweep_rest(environment& store) {
  for (std::size_t n = 0; n < sweeps_at_once; ++n) {
    std::size_t deleted = 0;
    const failure failed = store.write(
        [&](transaction& txn, wake_list&) { deleted = sweep_on(txn, entries_in_a_write).deleted; });
    if (failed || deleted == 0) return;
  }
}

void make_room(environment& store) {
  const auto lives = io::free_lives(store.place().where().at(file::life), lives_at_once);
  for (std::size_t at = 0; at < lives.size(); at += sessions_in_a_write) {
    const auto rest = std::span(lives).subspan(at);
    delete_dead(store, rest.first(std::min(rest.size(), sessions_in_a_write)));
  }
  // The first end is that of a round which began in the middle.
  int ends = 0;
  for (std::size_t n = 0; n < sweeps_at_once && ends < 2; ++n) {
    const failure failed = store.write([&](transaction& txn, wake_list&) {
      if (sweep_on(txn, entries_in_a_write).next.empty()) ++ends;
    });
    if (failed) return;
  }
}

}  // namespace holdfast::engines::local
