#include "engines/redis/replies.hpp"

#include "core/cut.hpp"
#include "core/queue.hpp"
#include "core/replies.hpp"
#include "core/whole_number.hpp"
#include "engines/redis/keys.hpp"
#include "engines/redis/reply_parts.hpp"
#include "engines/redis/scripts.hpp"
#include "wire/server_error.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

/// Everything that a server says is checked before it is believed. What has no known form is an
/// unknown outcome: the script may have run. What a script itself refuses was certainly not done.

namespace holdfast::engines::redis::replies {

namespace {

using namespace parts;
using core::cut;
using core::status;
using wire::reply;
using wire::reply_kind;

// ---- errors ----

std::string_view rest_of(const reply& r) noexcept {
  std::string_view rest = r.text;
  cut(rest, ' ');
  return rest;
}

bool says(const reply& r, std::string_view word) noexcept {
  return r.is(reply_kind::error) && std::string_view(r.text).substr(0, r.text.find(' ')) == word;
}

std::string denial_text(const reply& r) {
  std::string_view why = rest_of(r);
  const std::string_view by = cut(why, '\t');
  return core::denial_text(by, why);
}

/// No script calls another one: what names this command refused all of it. Another command was
/// refused inside of a script, which may have written by then.
bool is_about_the_script_itself(const reply& r) noexcept {
  return r.text.find("'evalsha'") != std::string::npos;
}

/// What an error of the server itself means: most are found before anything is written.
status status_of(const reply& r) noexcept {
  using wire::server_error;
  switch (wire::server_error_of(r.text)) {
    case server_error::misconf:
    case server_error::oom:
    case server_error::readonly:
    case server_error::loading:
    case server_error::masterdown:
    case server_error::noauth:
    case server_error::noscript:
    case server_error::busy:
    case server_error::noreplicas:
      return status::unavailable;
    case server_error::wrongtype:
      return status::damaged;
    case server_error::noperm:
      return is_about_the_script_itself(r) ? status::unavailable : status::unknown;
    default:
      return status::unknown;
  }
}

duration ttl_limit_of(const reply& r) { return length_of(rest_of(r)).value_or(duration::zero()); }

}  // namespace

std::string error_text(const reply& r) {
  if (wire::server_error_of(r.text) == wire::server_error::oom) {
    return wire::printable(r.text) + " (it is full: free memory or raise its maxmemory)";
  }
  return wire::with_missing_right(r.text, "docs/redis.md, \"Access\"");
}

core::reply refusal_of(const reply& r) {
  if (!r.is(reply_kind::error)) {
    return {status::unknown, std::string("the answer is ") + wire::name_of(r.kind) +
                                 " of no known form; is it another program's server?"};
  }
  if (says(r, refusal::gone)) return {status::gone, std::string(rest_of(r))};
  if (says(r, refusal::denied)) return {status::denied, denial_text(r)};
  if (says(r, refusal::not_admitted)) return {status::unavailable, std::string(rest_of(r))};
  if (says(r, refusal::damaged)) return {status::damaged, std::string(rest_of(r))};
  if (says(r, refusal::gate)) return {status::stale_gate, "an earlier gate"};
  if (says(r, refusal::many)) {
    return {status::too_many, core::too_many_text(std::string(rest_of(r)))};
  }
  if (says(r, refusal::ttl)) {
    return {status::invalid, "the ttl is longer than " + print_duration(ttl_limit_of(r)) +
                                 ", the max_ttl that this store was made with. Take a shorter one; "
                                 "docs/redis.md says how it is changed"};
  }
  if (says(r, refusal::large)) {
    return {status::unavailable,
            "there are " + std::string(rest_of(r)) + " entries, too many to be shown at once"};
  }
  if (says(r, refusal::counter)) return {status::unavailable, std::string(rest_of(r))};
  const std::string said = error_text(r);
  return {status_of(r), "the server answered: " + said,
          wire::server_error_of(said) == wire::server_error::noperm};
}

namespace {

template <class R>
read<R> refused(const reply& r) {
  read<R> no;
  no.reply = core::reply_with<R>(refusal_of(r));
  return no;
}

template <class R>
read<R> done(bool left) {
  read<R> yes;
  yes.reply.what = status::ok;
  yes.left = left;
  return yes;
}

// ---- views ----

using rivals_of = std::map<session_id, core::rival>;

/// `id inc beat denied ttl device inode pid`
bool add_session(const reply& r, rivals_of& to) {
  if (!r.is(reply_kind::text)) return false;
  std::string_view rest = r.text;
  const auto id = session_id::parse(cut(rest, ' '));
  const auto inc = core::whole_number<std::uint64_t>(cut(rest, ' '));
  const auto beat = core::whole_number<std::uint64_t>(cut(rest, ' '));
  const auto denied = core::whole_number<std::uint8_t>(cut(rest, ' '));
  const auto ttl = ttl_of(cut(rest, ' '));
  const auto device = core::whole_number<std::uint64_t>(cut(rest, ' '));
  const auto inode = core::whole_number<std::uint64_t>(cut(rest, ' '));
  const auto pid = core::whole_number<std::int64_t>(rest);
  if (!id || !inc || !beat || !denied || *denied > 1 || !ttl) return false;
  if (!device || !inode || !pid) return false;
  core::rival who;
  who.owner = *id;
  who.at = {.inc = *inc, .beat = *beat, .denied = *denied == 1};
  who.ttl = *ttl;
  who.where = {*device, *inode};
  who.pid = *pid;
  to.insert_or_assign(*id, who);
  return true;
}

void add_rival(core::queue_view& v, const core::rival& session, const core::entry& e) {
  core::rival& who = v.ahead.emplace_back(session);
  who.order = e.order;
  who.how = e.how;
  who.since = e.since;
}

/// The entries ahead with their sessions, then one's own, and what that one watches. False:
/// garbled.
bool read_ahead(const reply& r, core::queue_view& v) {
  const auto& parts = r.elements;
  if (!parts[3].is(reply_kind::array) || !parts[4].is(reply_kind::array)) return false;
  rivals_of sessions;
  for (const reply& s : parts[4].elements) {
    if (!add_session(s, sessions)) return false;
  }
  std::vector<core::entry> entries;
  entries.reserve(parts[3].elements.size());
  v.ahead.reserve(parts[3].elements.size());
  for (const reply& part : parts[3].elements) {
    auto e = entry_of(part);
    // Orders grow, as the rules of the queue need them: they look for an entry by halves.
    if (!e || (!entries.empty() && !(entries.back().order < e->order))) return false;
    if (e->order != v.mine) {
      const auto owner = sessions.find(e->owner);
      if (owner == sessions.end()) return false;
      add_rival(v, owner->second, *e);
    }
    entries.push_back(std::move(*e));
  }
  if (v.ahead.empty()) return false;
  if (v.what == status::queued) {
    if (entries.back().order != v.mine) return false;
    v.targets = core::watch_targets(entries, v.mine);
  }
  auto first = record_of(v.ahead.front().owner, parts[5]);
  if (!first) return false;
  v.first = std::make_shared<const core::session_record>(std::move(*first));
  return true;
}

}  // namespace

read<core::open_reply> open(const reply& r) {
  if (says(r, refusal::ttl)) {
    auto no = refused<core::open_reply>(r);
    no.reply.ttl_limit = ttl_limit_of(r);
    return no;
  }
  if (!is_array(r, 3)) return refused<core::open_reply>(r);
  const auto inc = number_of(r.elements[0]);
  const auto beat_now = number_of(r.elements[1]);
  const auto gate = number_of(r.elements[2]);
  if (!inc || !beat_now || !gate) return refused<core::open_reply>(r);
  auto ok = done<core::open_reply>(false);
  ok.reply.at = {.inc = *inc, .beat = *beat_now, .denied = false};
  ok.reply.gate = *gate;
  return ok;
}

read<core::beat_reply> beat(const reply& r, std::uint64_t attempt) {
  const auto left = sweep_more(r);
  if (!left) return refused<core::beat_reply>(r);
  auto ok = done<core::beat_reply>(*left);
  ok.reply.proves = attempt;
  return ok;
}

read<core::reply> close(const reply& r) {
  const auto left = sweep_more(r);
  return left ? done<core::reply>(*left) : refused<core::reply>(r);
}

read<core::queue_view> view(const reply& r) {
  if (!is_array(r, 3) && !is_array(r, 6)) {
    auto no = refused<core::queue_view>(r);
    if (no.reply.what == status::stale_gate) {
      no.reply.gate = core::whole_number<std::uint64_t>(rest_of(r)).value_or(0);
    }
    return no;
  }
  const auto& parts = r.elements;
  const auto left = flag_in(parts[2]);
  if (!left || !parts[0].is(reply_kind::integer) || !parts[1].is(reply_kind::text)) {
    return refused<core::queue_view>(r);
  }
  read<core::queue_view> v;
  v.left = *left;
  const auto order = order_of(parts[1].text);
  if (order) v.reply.mine = *order;
  const bool long_form = parts.size() == 6;
  if (parts[0].integer == 1 && order && !long_form) {
    v.reply.what = status::ok;
    return v;
  }
  if (parts[0].integer == 2 && order && long_form) v.reply.what = status::queued;
  if (parts[0].integer == 3 && !order && long_form) v.reply.what = status::busy;
  if (parts[0].integer == 4 && !order && long_form) v.reply.what = status::conflicting;
  // A reply begins as unavailable: else one of the three above has set it.
  const bool has_form = v.reply.what != status::unavailable;
  if (!has_form || !read_ahead(r, v.reply)) return refused<core::queue_view>(r);
  return v;
}

read<core::leave_reply> leave(const reply& r) {
  if (!is_array(r, 2)) return refused<core::leave_reply>(r);
  const auto gate = number_of(r.elements[0]);
  const auto left = flag_in(r.elements[1]);
  if (!gate || !left) return refused<core::leave_reply>(r);
  auto ok = done<core::leave_reply>(*left);
  ok.reply.gate = *gate;
  // No session has such a gate: they begin with 1.
  if (*gate == 0) {
    ok.reply.what = status::gone;
    ok.reply.text = "the session is not there";
  }
  return ok;
}

read<core::take_reply> take(const reply& r) {
  if (is_array(r, 2)) {
    const auto won = flag_in(r.elements[0]);
    const auto left = flag_in(r.elements[1]);
    if (won && *won && left) return done<core::take_reply>(*left);
  }
  if (!is_array(r, 4)) return refused<core::take_reply>(r);
  const auto inc = number_of(r.elements[1]);
  const auto beat_now = number_of(r.elements[2]);
  const auto denied = flag_of(r.elements[3]);
  if (!inc || !beat_now || !denied) return refused<core::take_reply>(r);
  read<core::take_reply> v;
  v.reply.what = status::changed;
  v.reply.text = "the session has changed since it was seen";
  v.reply.at = {.inc = *inc, .beat = *beat_now, .denied = *denied};
  return v;
}

read<core::deny_reply> deny(const reply& r) {
  if (!is_array(r, 3)) return refused<core::deny_reply>(r);
  const auto already = flag_in(r.elements[0]);
  const auto ttl = r.elements[1].is(reply_kind::text) ? ttl_of(r.elements[1].text) : std::nullopt;
  const auto left = flag_in(r.elements[2]);
  if (!already || !ttl || !left) return refused<core::deny_reply>(r);
  auto ok = done<core::deny_reply>(*left);
  ok.reply.already = *already;
  ok.reply.ttl = *ttl;
  return ok;
}

std::optional<bool> sweep_more(const reply& r) {
  return is_array(r, 1) ? flag_in(r.elements[0]) : std::nullopt;
}

std::optional<store_record> look(const reply& r) {
  if (!is_array(r, 10)) return std::nullopt;
  const auto text = [&](std::size_t i) {
    return r.elements[i].is(reply_kind::text) ? r.elements[i].text : std::string();
  };
  store_record s;
  s.there = std::ranges::any_of(r.elements, [](const reply& e) { return !e.is_null(); });
  s.format = text(0);
  s.nonce = text(1);
  s.run_id = text(2);
  s.admitted_text = text(3);
  s.max_ttl_text = text(5);
  const auto admitted = flag_of(r.elements[3]);
  const auto floor = number_of(r.elements[4]);
  const auto max_ttl = length_of(text(5));
  const auto durable = flag_of(r.elements[6]);
  s.admitted = admitted.value_or(false);
  s.floor = floor.value_or(0);
  s.max_ttl = max_ttl.value_or(duration::zero());
  s.durable = durable.value_or(false);
  s.uncleaned = !r.elements[7].is_null();
  s.max_ttl_inherited = flag_of(r.elements[8]).value_or(false);
  s.database = text(9);
  s.whole = !s.format.empty() && s.nonce.size() == 16 && !s.run_id.empty() && admitted && floor &&
            *floor <= token_max.value && s.max_ttl > duration::zero() && durable;
  return s;
}

std::optional<std::size_t> replicas(const reply& role) {
  if (!is_array(role, 3) || role.elements[0].text != "master") return std::nullopt;
  return role.elements[2].elements.size();
}

std::optional<wake_up> woken(const reply& push) noexcept {
  if (push.elements.size() != 3 || push.elements[0].text != "message") return std::nullopt;
  if (!std::string_view(push.elements[1].text).starts_with(wake_prefix)) return std::nullopt;
  const std::string_view text = push.elements[2].text;
  const auto plus = std::min(text.find('+'), text.size());
  const auto order = order_of(text.substr(0, plus));
  if (!order) return std::nullopt;
  return wake_up{.order = *order, .life = text.substr(std::min(plus + 1, text.size()))};
}

bool is_not_admitted(const reply& r) noexcept { return says(r, refusal::not_admitted); }

bool is_missing_script(const reply& r) noexcept {
  return r.is(reply_kind::error) && wire::server_error_of(r.text) == wire::server_error::noscript;
}

}  // namespace holdfast::engines::redis::replies
