#include "engines/redis/replies.hpp"

#include "core/queue.hpp"
#include "engines/redis/keys.hpp"
#include "engines/redis/scripts.hpp"
#include "wire/server_error.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

namespace holdfast::engines::redis::replies {

namespace {

using core::status;
using wire::reply;
using wire::reply_kind;

// ---- values ----

template <class Number>
std::optional<Number> number_of(std::string_view text) noexcept {
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> number_of(const reply& r) noexcept {
  return r.is(reply_kind::text) ? number_of<std::uint64_t>(r.text) : std::nullopt;
}

std::optional<token> order_of(std::string_view text) noexcept {
  const auto n = number_of<std::uint64_t>(text);
  if (!n || *n == 0 || *n > token_max.value) return std::nullopt;
  return token{*n};
}

std::optional<duration> length_of(std::string_view text) noexcept {
  const auto n = number_of<std::int64_t>(text);
  if (!n || *n < 0) return std::nullopt;
  return duration(*n);
}

std::optional<bool> flag_in(const reply& r) noexcept {
  if (!r.is(reply_kind::integer) || r.integer < 0 || r.integer > 1) return std::nullopt;
  return r.integer == 1;
}

std::optional<bool> flag_of(const reply& r) noexcept {
  if (!r.is(reply_kind::text) || (r.text != "0" && r.text != "1")) return std::nullopt;
  return r.text == "1";
}

bool is_array(const reply& r, std::size_t size) noexcept {
  return r.is(reply_kind::array) && r.elements.size() == size;
}

std::optional<mode> mode_of(std::string_view text) noexcept {
  if (text == "x") return mode::exclusive();
  if (text == "r") return mode::shared();
  if (!text.starts_with('p')) return std::nullopt;
  const auto n = number_of<std::uint32_t>(text.substr(1));
  if (!n || *n == 0 || *n > mode::permits_max) return std::nullopt;
  return mode::permits(*n);
}

wall_time wall_of(std::int64_t count) { return wall_time{std::chrono::microseconds{count}}; }

std::string_view cut(std::string_view& rest, char at) noexcept {
  const auto end = std::min(rest.find(at), rest.size());
  const auto part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

/// `ORDER:ID:INC:REQUEST:MODE:SINCE:CLIENT`
std::optional<core::entry> entry_of(const reply& r) {
  if (!r.is(reply_kind::text)) return std::nullopt;
  std::string_view rest = r.text;
  const auto order = order_of(cut(rest, ':'));
  const auto owner = session_id::parse(cut(rest, ':'));
  const auto inc = number_of<std::uint64_t>(cut(rest, ':'));
  const auto request = number_of<std::uint64_t>(cut(rest, ':'));
  const auto how = mode_of(cut(rest, ':'));
  const auto since = number_of<std::int64_t>(cut(rest, ':'));
  if (!order || !owner || !inc || !request || !how || !since) return std::nullopt;
  return core::entry{.order = *order,
                     .owner = *owner,
                     .inc = *inc,
                     .request = *request,
                     .how = *how,
                     .since = wall_of(*since)};
}

/// All fields of a session's hash, in the flat array that HGETALL gives.
std::optional<core::session_record> record_of(const session_id& id, const reply& all) {
  if (!all.is(reply_kind::array) || all.elements.size() % 2 != 0) return std::nullopt;
  const auto text = [&](std::string_view key) {
    const reply* found = all.find(key);
    return found != nullptr && found->is(reply_kind::text) ? found->text : std::string();
  };
  const auto number = [&](std::string_view key) { return number_of<std::uint64_t>(text(key)); };
  const auto time = [&](std::string_view key) { return number_of<std::int64_t>(text(key)); };
  const auto inc = number("inc");
  const auto beat = number("beat");
  const auto gate = number("gate");
  const auto ttl = length_of(text("ttl"));
  const std::string denied = text("denied");
  if (!inc || !beat || !gate || !ttl || (denied != "0" && denied != "1")) return std::nullopt;
  core::session_record s;
  s.id = id;
  s.at = {.inc = *inc, .beat = *beat, .denied = denied == "1"};
  s.ttl = *ttl;
  s.gate = *gate;
  s.where = {number("device").value_or(0), number("inode").value_or(0)};
  s.owner.host = text("host");
  s.owner.boot_id = text("boot_id");
  s.owner.pid = time("pid").value_or(0);
  s.owner.program = text("program");
  s.owner.instance = text("instance");
  s.owner.label = text("label");
  s.owner.started = wall_of(time("started").value_or(0));
  s.opened = wall_of(time("opened").value_or(0));
  s.denied_by = text("denied_by");
  s.denied_why = text("denied_why");
  return s;
}

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
  std::string_view rest = rest_of(r);
  core::session_record s;
  s.denied_by = cut(rest, '\t');
  s.denied_why = rest;
  return core::denial_text(s);
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
    default:
      return status::unknown;
  }
}

core::reply refusal_in(const reply& r) {
  if (!r.is(reply_kind::error)) {
    return {status::unknown, std::string("the answer is ") + wire::name_of(r.kind) +
                                 " of no known form; is it another program's server?"};
  }
  if (says(r, refusal::gone)) return {status::gone, std::string(rest_of(r))};
  if (says(r, refusal::denied)) return {status::denied, denial_text(r)};
  if (says(r, refusal::not_admitted)) return {status::unavailable, std::string(rest_of(r))};
  if (says(r, refusal::damaged)) return {status::damaged, std::string(rest_of(r))};
  if (says(r, refusal::gate)) return {status::stale_gate, "an earlier gate"};
  if (says(r, refusal::mode)) {
    const auto there = mode_of(rest_of(r));
    return {status::conflicting,
            "it is used as " + (there ? core::print_mode(*there) : "another mode")};
  }
  if (says(r, refusal::many)) {
    return {status::too_many,
            "more than " + std::string(rest_of(r)) +
                " hold or wait; try again when some have left, or use more names"};
  }
  if (says(r, refusal::ttl)) {
    const auto most = length_of(rest_of(r)).value_or(duration::zero());
    return {status::invalid, "the ttl is longer than " + print_duration(most) +
                                 ", the max_ttl that this store was made with"};
  }
  if (says(r, refusal::large)) {
    return {status::unavailable,
            "there are " + std::string(rest_of(r)) + " entries, too many to be shown at once"};
  }
  if (says(r, refusal::counter)) return {status::unavailable, std::string(rest_of(r))};
  return {status_of(r), "the server answered: " + r.text};
}

template <class R>
read<R> refused(const reply& r) {
  read<R> no;
  static_cast<core::reply&>(no.reply) = refusal_in(r);
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

/// [id, inc, beat, denied, ttl, device, inode, pid]
bool add_session(const reply& r, rivals_of& to) {
  if (!is_array(r, 8) || !r.elements[0].is(reply_kind::text)) return false;
  const auto& e = r.elements;
  const auto id = session_id::parse(e[0].text);
  const auto inc = number_of(e[1]);
  const auto beat = number_of(e[2]);
  const auto denied = flag_of(e[3]);
  const auto ttl = length_of(e[4].text);
  if (!id || !inc || !beat || !denied || !ttl) return false;
  core::rival who;
  who.owner = *id;
  who.at = {.inc = *inc, .beat = *beat, .denied = *denied};
  who.ttl = *ttl;
  who.where = {number_of(e[5]).value_or(0), number_of(e[6]).value_or(0)};
  who.pid = number_of<std::int64_t>(e[7].text).value_or(0);
  to.insert_or_assign(*id, who);
  return true;
}

void add_rival(core::queue_view& v, const core::rival& session, const core::entry& e) {
  core::rival& who = v.ahead.emplace_back(session);
  who.order = e.order;
  who.how = e.how;
  who.since = e.since;
}

/// The entries ahead with their sessions, then one's own, and what that one watches. False: garbled.
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
  v.first = record_of(v.ahead.front().owner, parts[5]);
  return v.first.has_value();
}

}  // namespace

read<core::open_reply> open(const reply& r) {
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
      no.reply.gate = number_of<std::uint64_t>(rest_of(r)).value_or(0);
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
  const bool has_form = v.reply.what == status::queued || v.reply.what == status::busy;
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
  const auto ttl = r.elements[1].is(reply_kind::text) ? length_of(r.elements[1].text) : std::nullopt;
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
  if (!is_array(r, 7)) return std::nullopt;
  const auto text = [&](std::size_t i) {
    return r.elements[i].is(reply_kind::text) ? r.elements[i].text : std::string();
  };
  store_record s;
  s.there = std::ranges::any_of(r.elements, [](const reply& e) { return !e.is_null(); });
  s.format = text(0);
  s.nonce = text(1);
  s.run_id = text(2);
  s.admitted_text = text(3);
  const auto admitted = flag_of(r.elements[3]);
  const auto floor = number_of(r.elements[4]);
  const auto max_ttl = length_of(text(5));
  const auto durable = flag_of(r.elements[6]);
  s.admitted = admitted.value_or(false);
  s.floor = floor.value_or(0);
  s.max_ttl = max_ttl.value_or(duration::zero());
  s.durable = durable.value_or(false);
  s.whole = !s.format.empty() && s.nonce.size() == 16 && !s.run_id.empty() && admitted && floor &&
            *floor <= token_max.value && s.max_ttl > duration::zero() && durable;
  return s;
}

std::optional<std::string> clean(const reply& r) {
  if (!r.is(reply_kind::text) || !number_of<std::uint64_t>(r.text)) return std::nullopt;
  return r.text;
}

std::optional<std::size_t> replicas(const reply& role) {
  if (!is_array(role, 3) || role.elements[0].text != "master") return std::nullopt;
  return role.elements[2].elements.size();
}

std::optional<token> woken(const reply& push) noexcept {
  if (push.elements.size() != 3 || push.elements[0].text != "message") return std::nullopt;
  if (!std::string_view(push.elements[1].text).starts_with(wake_prefix)) return std::nullopt;
  return order_of(push.elements[2].text);
}

bool is_not_admitted(const reply& r) noexcept { return says(r, refusal::not_admitted); }

bool is_missing_script(const reply& r) noexcept {
  return r.is(reply_kind::error) &&
         wire::server_error_of(r.text) == wire::server_error::noscript;
}

namespace {

bool read_sessions(const reply& all, core::listing& to) {
  for (const reply& part : all.elements) {
    if (!is_array(part, 2) || !part.elements[0].is(reply_kind::text)) return false;
    const auto id = session_id::parse(part.elements[0].text);
    auto record = id ? record_of(*id, part.elements[1]) : std::nullopt;
    if (!record) return false;
    to.sessions.push_back(std::move(*record));
  }
  std::ranges::sort(to.sessions, {}, &core::session_record::id);
  return true;
}

bool read_entries(const reply& all, core::listing& to) {
  if (all.elements.size() % 2 != 0) return false;
  std::map<lock_name, std::vector<core::entry>> queues;
  for (std::size_t i = 0; i < all.elements.size(); i += 2) {
    const reply& field = all.elements[i];
    const auto colon = field.text.find(':');
    auto e = entry_of(all.elements[i + 1]);
    if (!field.is(reply_kind::text) || colon == std::string::npos || !e) return false;
    queues[lock_name(field.text.substr(colon + 1))].push_back(std::move(*e));
  }
  for (auto& [name, entries] : queues) {
    std::ranges::sort(entries, {}, &core::entry::order);
    to.locks.push_back({name, std::move(entries)});
  }
  return true;
}

/// FNV-1a over all that is shown.
class fingerprint {
 public:
  void add(std::string_view text) noexcept {
    for (const char c : text) {
      state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    state_ = (state_ ^ 0x1ffU) * 0x100000001b3U;
  }
  void add(std::uint64_t n) { add(std::to_string(n)); }
  std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_{0xcbf29ce484222325U};
};

std::uint64_t revision_of(const core::listing& l) {
  fingerprint f;
  for (const auto& s : l.sessions) {
    f.add(s.id.str());
    f.add(s.at.inc);
    f.add(s.at.beat);
    f.add(s.at.denied ? 1U : 0U);
    f.add(s.gate);
  }
  for (const auto& lock : l.locks) {
    f.add(lock.name.str());
    for (const auto& e : lock.entries) f.add(e.order.value);
  }
  return f.value();
}

}  // namespace

read<core::listing> list(const reply& r) {
  read<core::listing> v;
  const bool has_form = is_array(r, 2) && r.elements[0].is(reply_kind::array) &&
                        r.elements[1].is(reply_kind::array);
  if (!has_form || !read_sessions(r.elements[0], v.reply) ||
      !read_entries(r.elements[1], v.reply)) {
    return refused<core::listing>(r);
  }
  v.reply.what = status::ok;
  v.reply.revision = revision_of(v.reply);
  return v;
}

}  // namespace holdfast::engines::redis::replies
