#include "client/await.hpp"
#include "client/failure.hpp"
#include "client/session_core.hpp"
#include "core/control_character.hpp"
#include "io/process/process_identity.hpp"
#include "io/process/run_directory.hpp"
#include "io/thread/random.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

/// How a session is opened, on the caller's thread: the life lock, then the record that names it,
/// then the lease from the moment of sending. Last it takes over the dead of this host, of which
/// the life locks are the proof.

namespace holdfast::client {

namespace {

constexpr std::size_t lives_looked_at = 256;

/// How long what somebody sent before dying may be on its way to a server. Until then each
/// session that is opened on this host asks for it.
constexpr duration on_its_way_most = std::chrono::seconds{10};

constexpr int open_attempts = 3;

result<void> check_text(const char* what, const std::string& text) {
  constexpr std::size_t most = session_options::text_max;
  if (text.size() > most) {
    return error(errc::invalid_argument, std::string("the session's ") + what + " has " +
                                             std::to_string(text.size()) + " bytes; at most " +
                                             std::to_string(most) + " are allowed");
  }
  if (std::ranges::none_of(text, core::is_control)) return {};
  return error(errc::invalid_argument,
               std::string("the session's ") + what +
                   " may not hold control characters: on the terminal of who lists the sessions "
                   "they could show what is not so");
}

result<duration> check_options(const store_core& store, const session_options& o) {
  for (const auto& checked : {check_text("program", o.program), check_text("instance", o.instance),
                              check_text("label", o.label)}) {
    if (!checked) return checked.error();
  }
  return store.fitting(o.ttl.value_or(store.default_ttl()));
}

/// Nothing: its directory was removed since the store was opened, and cannot be made again. Then
/// this session ends by its ttl, as on a store that had none at first. Where the store is that
/// directory it is gone with it.
result<std::optional<io::life_lock>> hold_life(const engines::opened_store& where,
                                               const session_id& id) {
  auto held = io::life_lock::hold(where.life_directory, id, where.group_writable);
  if (!held && where.loop) {
    const auto again = io::make_life_directory_again(where.life_directory);
    if (!again) return std::optional<io::life_lock>();
    if (*again) held = io::life_lock::hold(where.life_directory, id, where.group_writable);
  }
  if (!held) return held.error();
  return std::optional(std::move(*held));
}

}  // namespace

result<std::shared_ptr<session_core>> session_core::open(std::shared_ptr<store_core> store,
                                                         session_options options,
                                                         may_be_shorter ttl_may) {
  if (auto usable = store->usable(); !usable) return usable.error();
  if (auto waits = store->may_wait("opening a session"); !waits) return waits.error();
  const auto ttl = check_options(*store, options);
  if (!ttl) return ttl.error();
  auto made = std::make_shared<session_core>(store, options, *ttl);
  auto entered = made->enter();
  const bool chosen = options.ttl || store->names_ttl();
  const bool may = !chosen || ttl_may == may_be_shorter::yes;
  // What the store's records allow is known once they have refused a ttl. One that nobody chose
  // gives way; one that somebody asked for is an error that names the limit.
  if (!entered && made->ttl_limit_ > duration::zero() && may) {
    const auto shorter = store->fitting(std::min(*ttl, made->ttl_limit_));
    if (!shorter) return entered.error();
    made = std::make_shared<session_core>(std::move(store), std::move(options), *shorter);
    entered = made->enter();
  }
  if (!entered) return entered.error();
  return made;
}

session session_core::make_session(std::shared_ptr<session_core> core) noexcept {
  return session(std::move(core));
}

result<void> session_core::enter() {
  auto alarm = io::alarm::of_process();
  if (!alarm) return alarm.error();
  auto loop = store_->loop();
  if (!loop) return loop.error();
  alarm_ = *alarm;
  loop_ = *loop;
  patrol_ = patrolling::on(store_->opened().engine, loop_);
  id_ = io::random_session_id();

  core::open_request r;
  const auto& where = store_->opened();
  if (!where.life_directory.empty()) {
    // Before the record: a record without a held life lock would look like a dead owner's.
    auto held = hold_life(where, id_);
    if (!held) return held.error();
    if (*held) {
      const io::held_mutex hold(mutex_);
      life_ = std::move(**held);
      life_descriptor_ = life_.descriptor();
      r.draft.where = life_.place();
    }
  }
  r.draft.id = id_;
  r.draft.ttl = ttl_;
  r.draft.owner = io::process_identity();
  if (!options_.program.empty()) r.draft.owner.program = options_.program;
  r.draft.owner.instance = options_.instance;
  r.draft.owner.label = options_.label;
  r.draft.opened = io::wall_now();

  time_point sent{};
  const auto reply = announce(r, sent);
  if (reply.what != core::status::ok) {
    if (reply.what != core::status::unknown) {
      const io::held_mutex hold(mutex_);
      life_ = io::life_lock{};
    }
    ttl_limit_ = reply.ttl_limit;
    return failure(reply, "opening a session", store_->url());
  }
  inc_ = reply.at.inc;
  gate_ = reply.gate;
  advance([sent](machine& m) { return m.opened(sent, clock::now()); });
  watched_ = alarm_->watch(weak_from_this(), lease_.until());
  take_over_dead();
  // Here the beats go out already, and the first acquire may be on a thread that must not wait.
  store_->notes().settle();
  const auto is_open = usable();
  if (is_open || is_open.error() != errc::lost) return is_open;
  // Nothing was held under it, so that whoever has time left may open another one.
  return error(errc::unavailable, "opening a session took longer than its ttl, " +
                                      print_duration(ttl_) + ": " + is_open.error().message());
}

// Whoever arrives clears away this host's dead, also those whose locks nobody asks for.
void session_core::take_over_dead() {
  const auto& directory = store_->opened().life_directory;
  if (directory.empty()) return;
  const auto lives = io::free_lives(directory, lives_looked_at);
  // A few at a time and by their ids: a look at all sessions would hold a large store for seconds.
  for (std::size_t from = 0; from < lives.size(); from += core::glance_max) {
    const auto some =
        std::span(lives).subspan(from, std::min(core::glance_max, lives.size() - from));
    core::glance_request r;
    r.whole = false;
    for (const auto& one : some) r.whom.push_back(one.id);
    const auto seen = call(engine(), &core::engine::glance, r);
    if (seen.what != core::status::ok) return;
    for (const auto& one : some) {
      const auto at = std::ranges::find(seen.there, one.id, &core::session_record::id);
      // Each would take as long to fail, and the next session to open takes them over.
      if (!take_over(one, at == seen.there.end() ? nullptr : &*at)) return;
    }
  }
}

/// False: the store does not answer now.
bool session_core::take_over(const io::free_life& found, const core::session_record* record) {
  const auto& directory = store_->opened().life_directory;
  const session_id& id = found.id;
  if (record != nullptr) {
    // A copy of the file is free while its session lives; it is removed once the record is gone.
    if (record->where != found.where) return true;
    const core::take_request take{.id = id, .seen = record->at};
    const auto reply = call(engine(), &core::engine::take, take);
    const bool is_gone = reply.what == core::status::gone;
    if (reply.what != core::status::ok && !is_gone) return core::is_answer(reply.what);
    if (reply.what == core::status::ok) events_.emit(event::took_over{id, true});
  } else if (store_->opened().loop && io::is_life_younger(directory, id, on_its_way_most)) {
    // Its record may still come, and without the file nobody could tell that its owner is dead.
    return true;
  }
  io::remove_life(directory, id);
  return true;
}

// A record that is found after an unknown outcome proves the first write only: the lease counts
// from the first sending.
core::open_reply session_core::announce(const core::open_request& r, time_point& sent) {
  core::open_reply reply;
  sent = clock::now();
  for (int attempt = 0; attempt < open_attempts; ++attempt) {
    reply = call(engine(), &core::engine::open, r);
    if (reply.what != core::status::unknown) {
      if (attempt == 0) sent = reply.sent.value_or(sent);
      break;
    }
  }
  return reply;
}

}  // namespace holdfast::client
