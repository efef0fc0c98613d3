#include "client/operator_view.hpp"

#include "client/await.hpp"
#include "client/failure.hpp"
#include "client/shown.hpp"
#include "core/control_character.hpp"
#include "io/process/host_checks.hpp"
#include "io/process/life.hpp"
#include "io/process/process_identity.hpp"
#include "io/thread/background.hpp"
#include "io/thread/pause.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/session.hpp>

#include <algorithm>
#include <utility>

/// Deny and break act on one session by its id, and read no more than its record. Only a break with
/// the proof of a life lock takes the record at once; a denial leaves it to the ttl, as for any
/// owner that stays silent.

namespace holdfast::client {

namespace {

constexpr duration poll = std::chrono::milliseconds{50};
/// Whoever waits for a change leaves so many times as long as a listing took: a tenth of its time,
/// and of what it asks for at the store, goes into listings, however much there is to list.
constexpr int rest_times = 9;

std::string who(const core::session_record& r) {
  const auto shown = [](const std::string& text) { return lock_name(text).printable(); };
  return "the session " + r.id.str() + " of " + shown(r.owner.program) + " (process " +
         std::to_string(r.owner.pid) + " on " + shown(r.owner.host) + ")";
}

error no_such_session(const session_id& id, const std::string& url) {
  return {errc::invalid_argument, "there is no session " + id.str() + " in " + url};
}

error refusal(const core::session_record& r, life seen, duration free_after) {
  const std::string within = "its locks fall within " + print_duration(free_after);
  const std::string until = r.at.denied
                                ? "; " + core::denial_text(r) + "; " + within + " of that"
                                : "; " + within + " after its last heartbeat, or after a deny";
  if (seen == life::alive) {
    const char* advice = r.at.denied ? "" : "; deny it instead";
    return {errc::busy, who(r) + " is alive: a process still holds its life lock" + advice + until};
  }
  const auto here = io::process_identity();
  if (r.owner.host != here.host) {
    return {errc::busy,
            who(r) + " cannot be judged here: it is of another host than " + here.host + until};
  }
  return {errc::busy, who(r) + " cannot be judged: its life lock cannot be looked at" + until};
}

}  // namespace

result<core::listing> operator_view::ask() {
  if (auto usable = store_->usable(); !usable) return usable.error();
  if (auto may = store_->may_wait("listing"); !may) return may.error();
  const auto began = clock::now();
  auto l = call(store_->engine(), &core::engine::list);
  const auto ended = clock::now();
  // What a node that hangs added to it says nothing of how much there is to list.
  const duration took = std::min(ended - began, l.needed.value_or(duration::max()));
  // Of two, since a store that stood still for a moment is none that takes long to list.
  rested_at_.store(ended + rest_times * std::min(took, took_.exchange(took)));
  if (l.what != core::status::ok) return look_failure(l, "listing", store_->url());
  return l;
}

result<snapshot> operator_view::list() {
  auto l = ask();
  if (!l) return l.error();
  revision_.store(l->revision);
  snapshot seen = shown(*l, store_->opened());
  seen.rest = std::max(poll, duration(rested_at_.load() - clock::now()));
  return seen;
}

result<bool> operator_view::wait_for_change(duration wait, std::stop_token stop) {
  if (wait < duration::zero()) {
    return error(errc::invalid_argument, "the wait is negative: " + print_duration(wait));
  }
  if (wait > duration::zero() && io::on_library_thread()) {
    return unwaited_error("waiting for a change", store_->url());
  }
  const auto began = clock::now();
  const auto left = [&] { return wait == forever ? forever : wait - (clock::now() - began); };
  for (duration least{};; least = poll) {
    const duration rest = std::max(least, duration(rested_at_.load() - clock::now()));
    const duration most = std::max(left(), duration::zero());
    if (wait > duration::zero() && !io::pause(std::min(rest, most), stop)) return false;
    // No look is worth more than the time that was asked for; a wait of zero is for one look.
    if (rest > std::max(most, poll) && wait > duration::zero()) return false;
    const auto l = ask();
    if (!l) return l.error();
    if (revision_.exchange(l->revision) != l->revision) return true;
    if (left() <= duration::zero()) return false;
  }
}

result<core::session_record> operator_view::find(const session_id& id) {
  if (auto usable = store_->usable(); !usable) return usable.error();
  if (auto may = store_->may_wait("a look at " + id.str()); !may) return may.error();
  core::glance_request r;
  // By its id, for a store with millions of keys cannot be listed, and its sessions have to be
  // denied all the same.
  r.whom.push_back(id);
  const auto seen = call(store_->engine(), &core::engine::glance, r);
  const std::string what = "a look at the session " + id.str();
  if (seen.what != core::status::ok) return look_failure(seen, what, store_->url());
  const auto at = std::ranges::find(seen.there, id, &core::session_record::id);
  if (at == seen.there.end()) return no_such_session(id, store_->url());
  return *at;
}

/// A session whose record is gone may be known by a lock that it holds.
result<operator_view::trace> operator_view::trace_of(const session_id& id) {
  const auto record = find(id);
  // A session that cannot be looked for may be denied all the same.
  if (record || record.error() != errc::invalid_argument) return trace::record;
  const auto all = ask();
  if (!all) return all.error() == errc::unavailable ? record.error() : all.error();
  const bool is_listed =
      std::ranges::find(all->sessions, id, &core::session_record::id) != all->sessions.end();
  bool has_token = false;
  bool holds = false;
  for (const auto& l : all->locks) {
    for (const auto& e : l.entries) {
      holds = holds || e.owner == id;
      has_token = has_token || (e.owner == id && e.order.value != 0);
    }
  }
  if (has_token) return trace::lock;
  // Where not all is seen, what is not may be there.
  if (!holds)
    return is_listed || !all->text.empty() ? result<trace>(trace::record) : record.error();
  return error(errc::unsupported,
               "deny " + id.str() + " in " + store_->url() +
                   ": its holder keeps no session (tokens=off, or another Redlock client), so none "
                   "can be denied; nothing was changed. Its lock is free when it is released, or "
                   "when its ttl has passed: end that program");
}

result<void> operator_view::check_reason(const std::string& by, const std::string& why) {
  constexpr std::size_t most = session_options::text_max;
  if (by.size() > most || why.size() > most) {
    return error(errc::invalid_argument, "deny: who and why may have at most " +
                                             std::to_string(most) + " bytes each, they have " +
                                             std::to_string(by.size()) + " and " +
                                             std::to_string(why.size()));
  }
  // They are in the messages of the session's owner, which are one line each.
  if (std::ranges::none_of(by, core::is_control) && std::ranges::none_of(why, core::is_control)) {
    return {};
  }
  return error(errc::invalid_argument, "deny: who and why may not hold control characters");
}

result<denial> operator_view::deny(const session_id& id, std::string by, std::string why) {
  if (auto usable = store_->usable(); !usable) return usable.error();
  if (auto good = check_reason(by, why); !good) return good.error();
  if (auto may = store_->may_wait("deny " + id.str()); !may) return may.error();
  // On redlock:// a denial is written where no session is: it would refuse an id that nobody has
  // until max_ttl is over.
  const auto known = trace_of(id);
  if (!known) return known.error();
  const core::deny_request r{id, std::move(by), std::move(why)};
  const auto reply = call(store_->engine(), &core::engine::deny, r);
  const bool is_gone = reply.what == core::status::gone;
  if (is_gone && *known == trace::record) return no_such_session(id, store_->url());
  if (reply.what != core::status::ok && !is_gone) {
    return failure(reply, "deny " + id.str(), store_->url());
  }
  // Of one whose record is gone an engine may know a bound.
  const duration ttl = reply.ttl > duration::zero() ? reply.ttl : store_->ttl_limit();
  denial done{.already = reply.already, .free_within = store_->free_after(ttl)};
  // The next try may count from this sight of the denied record.
  if (auto record = find(id)) {
    core::sightings seen;
    seen.note(id, record->at, record->ttl, clock::now());
    store_->notes().keep(seen);
    store_->notes().settle();
    done.owner = std::move(record->owner);
  }
  return done;
}

result<owner_info> operator_view::break_session(const session_id& id) {
  if (const auto& why = store_->opened().cannot_break; !why.empty()) {
    return error(errc::unsupported, "break " + id.str() + " in " + store_->url() + ": " + why);
  }
  const auto record = find(id);
  if (!record) return record.error();
  const auto& directory = store_->opened().life_directory;
  const auto seen = directory.empty() || record->where.inode == 0
                        ? life::unknown
                        : io::probe_life(directory, id, record->where);
  // Nothing but the proof: who hangs or is of another host falls by its ttl, or is denied.
  if (seen != life::dead) return refusal(*record, seen, store_->free_after(record->ttl));
  if (auto taken = take(*record); !taken) return taken.error();
  return record->owner;
}

result<void> operator_view::take(const core::session_record& record) {
  const core::take_request r{record.id, record.at};
  const auto reply = call(store_->engine(), &core::engine::take, r);
  if (reply.what == core::status::changed) {
    return error(errc::busy, who(record) + " has changed meanwhile; look again");
  }
  if (reply.what != core::status::ok && reply.what != core::status::gone) {
    return failure(reply, "break " + record.id.str(), store_->url());
  }
  const auto& directory = store_->opened().life_directory;
  // Behind the record, which nobody could judge without the file.
  if (!directory.empty()) io::remove_life(directory, record.id);
  return {};
}

result<std::vector<finding>> operator_view::diagnose() {
  if (auto usable = store_->usable(); !usable) return usable.error();
  if (auto may = store_->may_wait("the diagnosis"); !may) return may.error();
  std::vector<finding> all;
  if (store_->opened().diagnose) {
    auto own = store_->opened().diagnose();
    if (!own) return own.error();
    all = std::move(*own);
  }
  if (const auto& promise = store_->opened().promise; !promise.empty()) {
    all.insert(all.begin(), {severity::good, "what holds", promise});
  }
  if (const auto& none = store_->opened().no_life; !none.empty()) {
    all.push_back({severity::warning, "life locks",
                   "a session that crashed here is followed only after its ttl: " + none});
  }
  // Asked only of a store without a fault: the same one would be shown twice.
  const auto is_fault = [](const finding& f) { return f.severity == severity::fault; };
  if (store_->opened().gives_tokens && std::ranges::none_of(all, is_fault)) {
    if (const auto named = store_->identity(); !named) {
      all.push_back(
          {severity::warning, "fencing tokens",
           "there are none, and HOLDFAST_FENCING_TOKEN is empty: " + named.error().message()});
    }
  }
  for (auto& f : io::check_host()) all.push_back(std::move(f));
  // Where a crash costs the ttl nothing notices it at once.
  if (!store_->opened().life_directory.empty()) all.push_back(io::check_pidfd());
  return all;
}

}  // namespace holdfast::client
