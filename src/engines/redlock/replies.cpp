#include "engines/redlock/replies.hpp"

#include "core/lease.hpp"
#include "core/records.hpp"
#include "core/whole_number.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/node_fault.hpp"
#include "wire/resp_reader.hpp"
#include "wire/server_error.hpp"

#include <holdfast/token.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using core::redlock::node_record;
using core::redlock::node_vote;
using core::redlock::seal_reply;
using core::redlock::write_reply;
using wire::reply;
using wire::reply_kind;
using wire::server_error;

constexpr std::int64_t largest = static_cast<std::int64_t>(token_max.value);
/// How far a hint that acquire.lua heeds may be ahead of the server's TIME.
constexpr std::chrono::hours hint_ahead{24};

bool is_array(const reply& r, std::size_t size) noexcept {
  return r.is(reply_kind::array) && r.elements.size() == size;
}

bool is_integer(const reply& r, std::int64_t value) noexcept {
  return r.is(reply_kind::integer) && r.integer == value;
}

std::optional<std::uint64_t> number_in(const reply& r, std::int64_t from = 0,
                                       std::int64_t to = largest) noexcept {
  if (!r.is(reply_kind::integer) || r.integer < from || r.integer > to) return std::nullopt;
  return static_cast<std::uint64_t>(r.integer);
}

/// As these scripts write it: nothing but digits, no zero before others, up to 2^53 - 1. Another
/// text would not be equal when it is compared there.
std::optional<std::uint64_t> number_of(std::string_view text) noexcept {
  const auto value = core::whole_number<std::uint64_t>(text);
  if (!value || *value > token_max.value || (text.size() > 1 && text[0] == '0')) return {};
  return value;
}

std::optional<std::uint64_t> number_of(const reply& r) noexcept {
  return r.is(reply_kind::text) ? number_of(r.text) : std::nullopt;
}

/// A length that is too large for a duration is never over.
duration milliseconds(std::uint64_t count) noexcept {
  constexpr auto most = static_cast<std::uint64_t>(
      std::chrono::floor<std::chrono::milliseconds>(duration::max()).count());
  return count > most ? duration::max() : std::chrono::milliseconds(count);
}

std::optional<server_time> time_in(const reply& r) noexcept {
  const auto microseconds = number_in(r);
  if (!microseconds) return std::nullopt;
  return server_time(static_cast<std::int64_t>(*microseconds));
}

/// The vote that an error is; of HFEPOCH with its second word.
node_vote refusal_in(const reply& r) noexcept {
  const fault f = fault_in(r);
  if (f != fault::epoch_moved) return node_vote::of(f);
  std::string_view rest = std::string_view(r.text).substr(refusal::epoch.size());
  if (!rest.empty()) rest.remove_prefix(1);
  const auto epoch = number_of(rest.substr(0, rest.find(' ')));
  return epoch ? node_vote::of(f, *epoch) : node_vote::of(fault::garbled);
}

/// [0, time, ms left], or nothing.
std::optional<timed_vote> taken_in(const reply& r) noexcept {
  if (!is_array(r, 3) || !is_integer(r.elements[0], 0)) return std::nullopt;
  const auto at = time_in(r.elements[1]);
  const bool for_ever = is_integer(r.elements[2], -1);
  const auto left = number_in(r.elements[2], 0, std::numeric_limits<std::int64_t>::max());
  if (!at || !(left || for_ever)) return std::nullopt;
  auto v = node_vote::taken(left ? milliseconds(*left) : duration::max());
  v.endless = for_ever;
  return timed_vote{v, at};
}

timed_vote without_time(const node_vote& v) noexcept { return {.vote = v, .time = std::nullopt}; }

}  // namespace

std::string_view session_fields::operator[](std::string_view name) const noexcept {
  const auto found = std::ranges::find_if(all, [&](const auto& f) { return f.first == name; });
  return found == all.end() ? std::string_view() : std::string_view(found->second);
}

namespace replies {

std::string error_text(const reply& r) {
  return wire::with_missing_right(r.text, page_about_rights);
}

bool text_says_more(fault f) noexcept {
  return f == fault::permission || f == fault::refused || f == fault::wrong_type;
}

namespace {

/// One character for each lock.
std::optional<core::redlock::renewal::answer> extended_in(const reply& r, std::size_t locks) {
  core::redlock::renewal::answer a;
  if (locks > a.ours.size() || !r.is(reply_kind::text) || r.text.size() != locks) {
    return std::nullopt;
  }
  constexpr std::size_t word_bits = 64;
  bool well_formed = true;
  for (std::size_t first = 0; first < locks; first += word_bits) {
    const auto part = std::string_view(r.text).substr(first, word_bits);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      well_formed &= part[i] == '0' || part[i] == '1';
      word |= std::uint64_t{part[i] == '1'} << i;
    }
    a.ours |= decltype(a.ours)(word) << first;
  }
  if (!well_formed) return std::nullopt;
  return a;
}

/// Of a hash.
std::optional<session_fields> fields_in(const reply& r) {
  const bool is_hash = r.is(reply_kind::array) || r.is(reply_kind::map);
  if (!is_hash || r.elements.size() % 2 != 0) return std::nullopt;
  session_fields all;
  for (std::size_t i = 0; i < r.elements.size(); i += 2) {
    const reply& field = r.elements[i];
    const reply& value = r.elements[i + 1];
    // Nobody here writes one that is too long: the session is shown without it.
    if (field.is(reply_kind::too_long) || value.is(reply_kind::too_long)) continue;
    if (!field.is(reply_kind::text) || !value.is(reply_kind::text)) return std::nullopt;
    all.all.emplace_back(field.text, value.text);
  }
  return all;
}

std::optional<page::session> session_in(const reply& r) {
  if (!is_array(r, 3) || !r.elements[0].is(reply_kind::text)) return std::nullopt;
  // Without a ttl, which no script leaves behind, it is -1.
  const auto left = number_in(r.elements[1], -1, std::numeric_limits<std::int64_t>::max());
  auto fields = fields_in(r.elements[2]);
  if (!left || !fields) return std::nullopt;
  return page::session{
      .id = r.elements[0].text, .left = milliseconds(*left), .fields = std::move(*fields)};
}

std::optional<page::lock> lock_in(const reply& r) {
  if (!is_array(r, 4)) return std::nullopt;
  const auto left = number_in(r.elements[2], 0, std::numeric_limits<std::int64_t>::max());
  const auto counter = number_in(r.elements[3]);
  if (!r.elements[0].is(reply_kind::text) || !r.elements[1].is(reply_kind::text)) {
    return std::nullopt;
  }
  if (!left || !counter) return std::nullopt;
  return page::lock{.name = r.elements[0].text,
                    .value = r.elements[1].text,
                    .left = milliseconds(*left),
                    .counter = *counter};
}

/// What a client keeps for long, of whatever length a server names: longer than any that is
/// written.
constexpr std::size_t word_max = 256;

/// `parts` are those of the script `look`, behind the time.
std::optional<node_record> record_in(const std::vector<reply>& parts) {
  const auto text = [&](std::size_t i) {
    const bool fits = parts[i].is(reply_kind::text) && parts[i].text.size() <= word_max;
    return fits ? parts[i].text : std::string();
  };
  node_record r;
  r.id = text(1);
  r.nonce = text(2);
  r.config_hash = text(8);
  const auto epoch = number_of(parts[3]);
  const auto max_ttl = number_of(parts[6]);
  if (r.id.empty() || r.nonce.empty() || r.config_hash.empty() || !epoch || !max_ttl) {
    return std::nullopt;
  }
  r.epoch = *epoch;
  r.max_ttl = milliseconds(*max_ttl);
  if (*max_ttl == 0 || r.max_ttl > core::ttl_max) return std::nullopt;
  const auto floor = number_of(parts[5]);
  const auto last_time = number_of(parts[7]);
  const auto durable = number_of(parts[9]);
  r.floor = floor.value_or(0);
  r.last_time = server_time(static_cast<std::int64_t>(last_time.value_or(0)));
  const bool whole = floor && last_time && durable && *durable <= 1;
  if (!whole) return r;
  r.run_id = text(4);
  r.durable = *durable == 1;
  // Read only where it means something; a record may be without.
  r.kept_epoch = r.epoch == 0 ? number_of(parts[10]).value_or(0) : 0;
  return r;
}

}  // namespace

timed_vote acquire(const reply& r, std::uint64_t hint) {
  if (is_array(r, 2)) {
    const auto counter = number_in(r.elements[0], 1);
    const auto at = time_in(r.elements[1]);
    const bool heeds = at && hint <= static_cast<std::uint64_t>((*at + hint_ahead).count());
    const bool went_back = counter && heeds && *counter <= hint;
    if (counter && at && !went_back) {
      return {.vote = node_vote::granted(*counter), .time = at};
    }
  }
  if (const auto taken = taken_in(r)) return *taken;
  return without_time(refusal_in(r));
}

node_vote set_plain(const reply& r) {
  if (r.is_ok()) return node_vote::granted();
  if (r.is_null()) return node_vote::taken();
  return refusal_in(r);
}

node_vote raise(const reply& r) {
  if (is_integer(r, 1)) return node_vote::granted();
  if (is_integer(r, 0)) return node_vote::taken();
  return refusal_in(r);
}

timed_vote repair(const reply& r) {
  if (is_array(r, 2) && is_integer(r.elements[0], 1)) {
    if (const auto at = time_in(r.elements[1])) return {.vote = node_vote::granted(), .time = at};
  }
  if (const auto taken = taken_in(r)) return *taken;
  return without_time(refusal_in(r));
}

reading<released> release(const reply& r) {
  const auto done = number_in(r, 0, 3);
  if (!done) return fault_in(r);
  return released{.deleted = *done != 0, .counted = *done != 2, .others = *done == 3};
}

reading<renewed> renew(const reply& r, std::size_t locks) {
  using session_there = core::redlock::renewal::session_there;
  if (is_array(r, 2)) {
    const auto extended = extended_in(r.elements[0], locks);
    const auto at = time_in(r.elements[1]);
    if (extended && at) return renewed{.answer = *extended, .time = at};
  }
  const fault f = fault_in(r);
  const bool missing = f == fault::session_missing;
  if (!missing && f != fault::denied) return f;
  renewed without;
  without.answer.session = missing ? session_there::missing : session_there::denied;
  return without;
}

reading<renewed> renew_plain(const reply& r, std::size_t locks) {
  const auto extended = extended_in(r, locks);
  if (!extended) return fault_in(r);
  return renewed{.answer = *extended, .time = std::nullopt};
}

fault open(const reply& r) { return is_integer(r, 1) ? fault::none : fault_in(r); }

reading<bool> close(const reply& r) {
  const auto done = number_in(r, 0, 1);
  if (!done) return fault_in(r);
  return *done == 1;
}

reading<denial> deny(const reply& r) {
  if (!is_array(r, 2)) return fault_in(r);
  const auto what = number_in(r.elements[0], 0, 2);
  const auto ttl = number_in(r.elements[1]);
  if (!what || !ttl) return fault::garbled;
  return denial{.already = *what == 0,
                .had_record = *what != 2,
                .ttl = std::min(milliseconds(*ttl), core::ttl_max)};
}

reading<session_fields> session(const reply& r) {
  auto fields = fields_in(r);
  return fields ? reading<session_fields>(std::move(*fields)) : fault_in(r);
}

reading<page> list(const reply& r) {
  if (!is_array(r, 4)) return fault_in(r);
  const reply& cursor = r.elements[0];
  const reply& sessions = r.elements[1];
  const reply& locks = r.elements[2];
  page p;
  const bool is_cursor = cursor.is(reply_kind::text) && !cursor.text.empty() &&
                         cursor.text.find_first_not_of("0123456789") == std::string::npos;
  if (!is_cursor || !sessions.is(reply_kind::array) || !locks.is(reply_kind::array) ||
      !r.elements[3].is(reply_kind::text)) {
    return fault::garbled;
  }
  p.next = cursor.text;
  p.withheld = r.elements[3].text;
  for (const reply& part : sessions.elements) {
    auto s = session_in(part);
    if (!s) return fault::garbled;
    p.sessions.push_back(std::move(*s));
  }
  for (const reply& part : locks.elements) {
    auto l = lock_in(part);
    if (!l) return fault::garbled;
    p.locks.push_back(std::move(*l));
  }
  return p;
}

reading<node_reading> look(const reply& r) {
  if (!is_array(r, 1) && !is_array(r, 11)) return fault_in(r);
  const auto at = time_in(r.elements[0]);
  if (!at) return fault::garbled;
  node_reading l{.time = *at, .record = std::nullopt};
  if (r.elements.size() == 1) return l;
  l.record = record_in(r.elements);
  if (!l.record) return fault::garbled;
  return l;
}

std::string damage_in_look(const reply& r) {
  constexpr const char* mended = "; DEL it there, and the node waits like one that lost its state";
  const auto at = std::ranges::find(r.elements, reply_kind::too_long, &reply::kind);
  if (at != r.elements.end()) {
    return std::string(node_key) + " has a value of " + std::to_string(at->integer) +
           " bytes, at most " + std::to_string(wire::resp_limits{}.bulk_bytes) +
           " are read, and holdfast writes none so long" + mended;
  }
  if (!is_array(r, 11) || !time_in(r.elements[0]) || record_in(r.elements)) return {};
  return std::string(node_key) +
         " is damaged: its id, nonce, config_hash, epoch or max_ttl is none" + mended;
}

seal_reply seal(const reply& r) {
  using result = seal_reply::result;
  if (const auto floor = number_in(r)) return {.what = result::sealed, .floor = *floor};
  const node_vote v = refusal_in(r);
  const bool refused = v.why == fault::epoch_moved || v.why == fault::not_admitted;
  if (!refused) return {};
  return {.what = result::refused, .floor = 0, .epoch = v.epoch};
}

write_reply write(const reply& r) {
  if (is_integer(r, 1)) return write_reply::written;
  return is_integer(r, 0) ? write_reply::changed : write_reply::failed;
}

fault load(const reply& r, const script& s) {
  return r.is(reply_kind::text) && r.text == s.sha1 ? fault::none : fault_in(r);
}

reading<server_time> time(const reply& r) {
  if (!is_array(r, 2)) return fault_in(r);
  const auto seconds = number_of(r.elements[0]);
  const auto micros = number_of(r.elements[1]);
  constexpr std::uint64_t in_second = 1'000'000;
  if (!seconds || !micros || *micros >= in_second) return fault::garbled;
  if (*seconds >= token_max.value / in_second) return fault::garbled;
  return server_time(static_cast<std::int64_t>(*seconds * in_second + *micros));
}

fault subscribe(const reply& r) {
  const bool is_message = r.is(reply_kind::push) || r.is(reply_kind::array);
  const bool done = is_message && r.elements.size() == 3 &&
                    (r.elements[0].text == "subscribe" || r.elements[0].text == "unsubscribe");
  return done ? fault::none : fault_in(r);
}

std::optional<news> freed(const reply& push) noexcept {
  if (!push.is(reply_kind::push) && !push.is(reply_kind::array)) return std::nullopt;
  if (push.elements.size() != 3 || push.elements[0].text != "message") return std::nullopt;
  const std::string_view whole = push.elements[1].text;
  std::string_view channel = whole;
  if (!channel.starts_with(free_prefix)) return std::nullopt;
  channel.remove_prefix(free_prefix.size());
  if (channel.starts_with(scope_mark)) {
    channel.remove_prefix(std::min(channel.find(':'), channel.size() - 1) + 1);
  }
  const auto colon = channel.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return news{.channel = whole,
              .name = channel.substr(colon + 1),
              .calls = channel.substr(0, colon) != everybody};
}

bool is_missing_script(const reply& r) noexcept {
  return r.is(reply_kind::error) && fault_of(r.text) == fault::script_missing;
}

std::optional<bool> peek(const reply& r) {
  if (r.is(reply_kind::null)) return false;
  if (r.is(reply_kind::integer)) return r.integer != 0;
  const bool other_type =
      r.is(reply_kind::error) && wire::server_error_of(r.text) == server_error::wrongtype;
  const bool is_value = r.is(reply_kind::text) || r.is(reply_kind::too_long);
  return is_value || other_type ? std::optional(true) : std::nullopt;
}

bool may_name_holder(const reply& r) {
  return r.is(reply_kind::integer) && r.integer == static_cast<std::int64_t>(value_bytes);
}

std::optional<session_id> holder(const reply& r) {
  const std::string_view value = r.is(reply_kind::text) ? std::string_view(r.text) : "";
  const std::size_t point = value.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  return session_id::parse(value.substr(point + 1));
}

std::string denial_text(const reply& r) {
  constexpr std::size_t bytes_max = 300;
  constexpr std::string_view by = " by ";
  std::string_view said = std::string_view(r.text).substr(0, bytes_max);
  const bool known = r.is(reply_kind::error) && said.starts_with(refusal::denied);
  if (known) said.remove_prefix(refusal::denied.size());
  if (!known || !said.starts_with(by)) return "an operator denied it";
  said.remove_prefix(by.size());
  const auto end = std::min(said.find(": "), said.size());
  const std::string_view why = said.substr(std::min(end + 2, said.size()));
  std::string text = core::denial_text(said.substr(0, end), why);
  // Whoever wrote it may have meant it for a terminal.
  std::ranges::replace_if(
      text, [](char c) { return c >= 0 && (c < ' ' || c == '\x7f'); }, '?');
  return text;
}

}  // namespace replies

}  // namespace holdfast::engines::redlock
