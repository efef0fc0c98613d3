#include "engines/local/environment.hpp"

#include "engines/local/keys.hpp"
#include "engines/local/watches.hpp"
#include "io/process/fork_mark.hpp"
#include "io/process/per_process.hpp"
#include "io/process/process_identity.hpp"
#include "io/thread/condition.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <new>
#include <set>
#include <utility>

namespace holdfast::engines::local {
namespace {

using file_id = std::pair<std::uint64_t, std::uint64_t>;

// The open stores of this process. A store stays listed until its files are really closed: closing
// a second descriptor of `slots` would free the slot of whoever opened it meanwhile. One that is
// being opened is listed by its id alone: whoever closes another store needs the mutex, and must
// not wait until a process that stands still lets this one in.
struct registry {
  io::mutex mutex;
  io::condition changed;
  std::map<file_id, std::weak_ptr<environment>> open HOLDFAST_GUARDED_BY(mutex);
  std::set<file_id> opening HOLDFAST_GUARDED_BY(mutex);
};

constinit io::per_process<registry> stores;
constinit std::atomic<environment*> inherited{nullptr};

// The right to open one store in this process, given back at the end.
class opening_turn {
 public:
  enum class state : std::uint8_t { mine, open, look_again };

  // Takes it, or waits for who has it or closes the store: then the path may lead elsewhere.
  opening_turn(registry& all, const file_id& id) : all_(all), id_(id) {
    const io::held_mutex lock(all_.mutex);
    const auto at = all_.open.find(id_);
    if (at != all_.open.end()) there_ = at->second.lock();
    if (there_) {
      state_ = state::open;
    } else if (at != all_.open.end() || all_.opening.contains(id_)) {
      all_.changed.wait(all_.mutex);
    } else {
      all_.opening.insert(id_);
      state_ = state::mine;
    }
  }
  opening_turn(const opening_turn&) = delete;
  opening_turn& operator=(const opening_turn&) = delete;
  ~opening_turn() {
    if (state_ != state::mine) return;
    const io::held_mutex lock(all_.mutex);
    all_.opening.erase(id_);
    all_.changed.notify_all();
  }

  state now() const noexcept { return state_; }
  const std::shared_ptr<environment>& there() const noexcept { return there_; }
  // The path led to another store than it did before, or to none; false when that one is taken.
  bool move_to(const file_id& id) {
    if (id == id_) return true;
    const io::held_mutex lock(all_.mutex);
    if (all_.open.contains(id) || !all_.opening.insert(id).second) return false;
    all_.opening.erase(std::exchange(id_, id));
    all_.changed.notify_all();
    return true;
  }
  void publish(const std::shared_ptr<environment>& made) {
    const io::held_mutex lock(all_.mutex);
    all_.open[id_] = made;
  }

 private:
  registry& all_;
  file_id id_;
  state state_{state::look_again};
  std::shared_ptr<environment> there_;
};

file_id id_of(const directory& d) { return {d.facts().device, d.facts().inode}; }

// All zero where nothing is that can be opened.
result<file_id> id_at(const std::string& path) {
  const auto fd = io::open_directory(path);
  if (!fd) return file_id{};
  const auto facts = io::facts_of(fd->get(), path);
  if (!facts) return facts.error();
  return file_id{facts->device, facts->inode};
}

error not_as_left(const directory& d, const char* name, const char* what) {
  const std::string path = d.where().at(name);
  return {errc::damaged, path + " " + what + how_to_begin_anew(path)};
}

result<io::shared_memory> map_shared(const directory& d) {
  auto file = io::open_or_create_in_place(d.where(), file::shared, d.file_mode());
  if (!file) return file.error();
  const std::string path = d.where().at(file::shared);
  auto facts = io::facts_of(file->get(), path);
  if (!facts) return facts.error();
  if (!d.fresh() && facts->size != sizeof(shared_state)) {
    return not_as_left(d, file::shared, "is missing or has a wrong size");
  }
  if (auto room = io::reserve(file->get(), sizeof(shared_state), path); !room) return room.error();
  return io::shared_memory::map(file->get(), sizeof(shared_state), path);
}

result<shared_state*> enter_shared(const directory& d, const io::shared_memory& memory) {
  // A file of zeroes is a valid state: every member is an atomic integer.
  auto* state = std::launder(reinterpret_cast<shared_state*>(memory.data()));
  if (d.fresh()) state->magic.store(shared_state::magic_value);
  if (state->magic.load() == shared_state::magic_value) return state;
  return not_as_left(d, file::shared, "is not of a holdfast store");
}

result<io::unique_fd> open_slots(const directory& d) {
  if (d.fresh()) return io::open_or_create(d.where(), file::slots, d.file_mode());
  auto file = io::open_existing(d.where(), file::slots);
  if (!file) return file.error();
  // In a new file every slot is free, also those that running processes go by.
  if (!*file) return not_as_left(d, file::slots, "is missing");
  return std::move(**file);
}

result<io::process_slot> take_slot(const directory& d, shared_state& state) {
  // Opened once: closing a second descriptor would free the slot.
  auto file = open_slots(d);
  if (!file) return file.error();
  auto slot = io::process_slot::take(std::move(*file));
  if (!slot) return slot.error();
  // Whoever had the slot before may have been killed in its sleep.
  state.wake[slot->number()].asleep.store(0);
  std::uint32_t used = state.slots_used.load();
  while (used <= slot->number() &&
         !state.slots_used.compare_exchange_weak(used, slot->number() + 1)) {
  }
  return slot;
}

std::vector<std::byte> encode_number(std::uint64_t value) {
  std::vector<std::byte> out;
  writer(out).number(value);
  return out;
}

// Where tokens of these data begin: above everything that was ever given.
result<std::uint64_t> first_base(const token_floor& floor, shared_state& shared) {
  auto ceiling = floor.synced_ceiling();
  if (!ceiling) return ceiling;
  shared.synced_ceiling.store(*ceiling);
  if (*ceiling != 0) return ceiling;
  // New or lost. The clock's microseconds are above all earlier tokens unless the store gave more
  // than a million a second for its whole life.
  const auto now = static_cast<std::uint64_t>(io::wall_now().time_since_epoch().count());
  return std::min(now, token_max.value / 2);
}

result<std::uint64_t> read_base(const directory& d, database& db, const token_floor& floor,
                                shared_state& shared) {
  const key base_key = own_key("base");
  if (d.fresh()) {
    auto base = first_base(floor, shared);
    if (!base) return base;
    transaction txn(db, transaction::kind::write);
    txn.put(base_key.view(), encode_number(*base));
    if (failure failed = txn.finish()) return error(errc::unavailable, failed.text);
    return base;
  }
  transaction txn(db, transaction::kind::read);
  const bytes value = txn.get(base_key.view());
  if (value.size() != sizeof(std::uint64_t)) {
    return error(errc::damaged, damage_text(db.path(), "it does not say where its tokens begin"));
  }
  return reader(value).number<std::uint64_t>();
}

std::string stuck_text(const std::string& path, const io::process_mutex::owner& who) {
  const std::string pid = who.pid != 0 ? "process " + std::to_string(who.pid)
                                       : std::string("a process of another pid namespace");
  return "the store " + path + " is held by " + pid + " for more than " +
         print_duration(environment::gate_limit) + "; it is probably stopped: continue or end it";
}

result<database> open_data(const directory& d, std::size_t most) {
  auto file = io::open_or_create_in_place(d.where(), file::data, d.file_mode());
  if (!file) return file.error();
  const std::string path = d.where().at(file::data);
  auto facts = io::facts_of(file->get(), path);
  if (!facts) return facts.error();
  if (!d.fresh() && facts->size == 0) {
    return not_as_left(d, file::data, "is missing or empty, but belongs to this boot");
  }
  return database::open(std::move(*file), path, most);
}

}  // namespace

struct environment::parts {
  directory place;
  io::shared_memory memory;
  shared_state* state;
  io::process_slot slot;
  token_floor floor;
  std::optional<database> data{};
  std::uint64_t base{};
};

result<environment::parts> environment::build(
    const request& asked, const std::function<bool(const directory&)>& may_go_on) {
  auto place = directory::open(asked);
  if (!place) return place.error();
  if (!may_go_on(*place)) {
    return error(errc::unavailable, asked.path + " was moved while it was being opened");
  }
  if (auto alone = place->keep_other_copies_out(); !alone) return alone.error();
  auto memory = map_shared(*place);
  if (!memory) return memory.error();
  auto state = enter_shared(*place, *memory);
  if (!state) return state.error();
  auto slot = take_slot(*place, **state);
  if (!slot) return slot.error();
  auto floor = token_floor::open(place->where(), place->file_mode());
  if (!floor) return floor.error();
  parts all{std::move(*place), std::move(*memory), *state, std::move(*slot), std::move(*floor)};

  // Opening reads the pages that a writer may be changing.
  io::process_mutex gate(all.state->gate, all.slot);
  if (const auto who = gate.lock(gate_limit)) {
    return error(errc::unavailable, stuck_text(all.place.where().path, *who));
  }
  const io::process_mutex_guard held(gate);
  auto data = open_data(all.place, asked.data_bytes);
  if (!data) return data.error();
  all.data = std::move(*data);
  auto base = read_base(all.place, *all.data, all.floor, *all.state);
  if (!base) return base.error();
  all.base = *base;
  // Last, so that what is named as this boot's is complete, whenever somebody is killed.
  if (auto done = all.place.finish_setup(); !done) return done.error();
  return all;
}

environment::environment(parts&& all)
    : generation_(io::process_generation()),
      directory_(std::move(all.place)),
      memory_(std::move(all.memory)),
      state_(all.state),
      slot_(std::move(all.slot)),
      gate_(state_->gate, slot_),
      floor_(std::move(all.floor)),
      database_(std::move(*all.data)),
      base_(all.base),
      watches_(std::make_shared<watches>(state_->wake[slot_.number()])) {}

environment::~environment() = default;

result<std::shared_ptr<environment>> environment::open(const request& asked) {
  registry& all = stores.get();
  for (;;) {
    // The directory may be there and open already; its identity tells, whatever the path.
    const auto id = id_at(asked.path);
    if (!id) return id.error();
    opening_turn turn(all, *id);
    if (turn.now() == opening_turn::state::look_again) continue;
    if (const auto& there = turn.there()) {
      if (there->directory_.group() == asked.group) return there;
      return error(errc::invalid_argument, asked.path +
                                               " is open in this process with another "
                                               "?group=; use the same for all");
    }
    bool is_taken = false;
    auto built = build(asked, [&](const directory& d) {
      is_taken = !turn.move_to(id_of(d));
      return !is_taken;
    });
    if (is_taken) continue;
    if (!built) return built.error();
    std::shared_ptr<environment> made(new environment(std::move(*built)), destroy);
    turn.publish(made);
    return made;
  }
}

void environment::destroy(environment* dead) noexcept {
  if (dead->is_inherited()) {
    // Nothing of it may be touched in a forked child. It stays reachable for leak checkers.
    dead->next_inherited_ = inherited.load();
    while (!inherited.compare_exchange_weak(dead->next_inherited_, dead)) {
    }
    return;
  }
  dead->watches_->stop();
  registry& all = stores.get();
  const file_id id = id_of(dead->directory_);
  delete dead;
  const io::held_mutex lock(all.mutex);
  all.open.erase(id);
  all.changed.notify_all();
}

bool environment::is_inherited() const noexcept { return generation_ != io::process_generation(); }

failure environment::enter() {
  if (is_inherited()) {
    return {core::status::unavailable,
            "the store " + directory_.where().path +
                " was opened before this process was forked; open it again in the child"};
  }
  if (const auto who = gate_.lock(gate_limit)) {
    return {core::status::unavailable, stuck_text(directory_.where().path, *who)};
  }
  return {};
}

std::uint64_t environment::next_token(transaction& txn) {
  const std::uint64_t next = base_ + txn.number();
  const std::uint64_t synced = state_->synced_ceiling.load(std::memory_order_relaxed);
  if (next <= synced) return next;
  // Not the file's own word: its writer may have been killed before it was synced.
  auto raised = floor_.raise(next, synced);
  if (!raised) {
    txn.fail(core::status::unavailable,
             "cannot give a token: " + raised.error().message() + ". Nothing was changed");
    return 0;
  }
  state_->synced_ceiling.store(*raised, std::memory_order_relaxed);
  return next;
}

void environment::wake(wake_list& list) noexcept {
  if (list.everybody) {
    const std::uint32_t used = std::min<std::uint32_t>(
        state_->slots_used.load(), static_cast<std::uint32_t>(state_->wake.size()));
    for (std::uint32_t i = 0; i < used; ++i) io::ring(state_->wake[i]);
    return;
  }
  std::sort(list.slots.begin(), list.slots.end());
  const auto end = std::unique(list.slots.begin(), list.slots.end());
  for (auto at = list.slots.begin(); at != end; ++at) {
    if (*at < state_->wake.size()) io::ring(state_->wake[*at]);
  }
}

}  // namespace holdfast::engines::local
