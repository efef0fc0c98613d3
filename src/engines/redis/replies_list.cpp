#include "core/cut.hpp"
#include "core/replies.hpp"
#include "core/whole_number.hpp"
#include "engines/redis/replies.hpp"
#include "engines/redis/reply_parts.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::engines::redis::replies {

using namespace parts;
using core::cut;
using core::status;
using wire::reply;
using wire::reply_kind;

namespace {

std::optional<core::session_record> session_in(const reply& part) {
  if (!is_array(part, 2) || !part.elements[0].is(reply_kind::text)) return std::nullopt;
  const auto id = session_id::parse(part.elements[0].text);
  return id ? record_of(*id, part.elements[1]) : std::nullopt;
}

/// Of sessions in a reply of no known form: that of a record which is damaged says whose it is.
core::reply refusal_of(const reply& sessions, const reply& whole) {
  for (const reply& part : sessions.elements) {
    const bool named = is_array(part, 2) && part.elements[0].is(reply_kind::text) &&
                       session_id::parse(part.elements[0].text);
    if (named && part.elements[1].is(reply_kind::array) && !session_in(part)) {
      return {status::damaged,
              "the record of session " + part.elements[0].text + " is not one of holdfast"};
    }
  }
  return replies::refusal_of(whole);
}

bool read_sessions(const reply& all, list_page& to) {
  for (const reply& part : all.elements) {
    auto record = session_in(part);
    if (!record) return false;
    to.sessions.push_back(std::move(*record));
  }
  return true;
}

bool read_entries(const reply& all, list_page& to) {
  if (all.elements.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < all.elements.size(); i += 2) {
    const reply& field = all.elements[i];
    const auto colon = field.text.find(':');
    auto e = entry_of(all.elements[i + 1]);
    if (!field.is(reply_kind::text) || colon == std::string::npos || !e) return false;
    to.entries.push_back({lock_name(field.text.substr(colon + 1)), std::move(*e)});
  }
  return true;
}

bool read_next(const reply& cursor, const reply& rest, list_page& to) {
  if (!cursor.is(reply_kind::text) || !number_of(cursor)) return false;
  to.cursor = cursor.text;
  for (const reply& part : rest.elements) {
    const auto id = part.is(reply_kind::text) ? session_id::parse(part.text) : std::nullopt;
    if (!id) return false;
    to.rest.push_back(*id);
  }
  return true;
}

/// `id inc beat denied ttl device inode`
std::optional<core::session_record> brief_session(const reply& r) {
  if (!r.is(reply_kind::text)) return std::nullopt;
  std::string_view rest = r.text;
  const auto id = session_id::parse(cut(rest, ' '));
  const auto inc = core::whole_number<std::uint64_t>(cut(rest, ' '));
  const auto beat = core::whole_number<std::uint64_t>(cut(rest, ' '));
  const auto denied = core::whole_number<std::uint8_t>(cut(rest, ' '));
  const auto ttl = ttl_of(cut(rest, ' '));
  const auto device = core::whole_number<std::uint64_t>(cut(rest, ' '));
  const auto inode = core::whole_number<std::uint64_t>(rest);
  if (!id || !inc || !beat || !denied || *denied > 1 || !ttl) return std::nullopt;
  if (!device || !inode) return std::nullopt;
  core::session_record s;
  s.id = *id;
  s.at = {.inc = *inc, .beat = *beat, .denied = *denied == 1};
  s.ttl = *ttl;
  s.where = {*device, *inode};
  return s;
}

}  // namespace

core::reply refusal_of_list(const reply& r) {
  return is_array(r, 4) ? refusal_of(r.elements[0], r) : refusal_of(r);
}

std::optional<list_page> list(const reply& r) {
  if (!is_array(r, 4)) return std::nullopt;
  for (const std::size_t part : {0U, 1U, 3U}) {
    if (!r.elements[part].is(reply_kind::array)) return std::nullopt;
  }
  list_page p;
  if (!read_sessions(r.elements[0], p) || !read_entries(r.elements[1], p) ||
      !read_next(r.elements[2], r.elements[3], p)) {
    return std::nullopt;
  }
  return p;
}

read<core::glance_reply> glance(const reply& r) {
  read<core::glance_reply> v;
  bool has_form = r.is(reply_kind::array);
  for (const reply& part : r.elements) {
    auto record = part.is(reply_kind::array) ? session_in(part) : brief_session(part);
    has_form = has_form && record.has_value();
    if (!has_form) break;
    v.reply.there.push_back(std::move(*record));
  }
  if (has_form) {
    v.reply.what = status::ok;
    return v;
  }
  v.reply = core::reply_with<core::glance_reply>(refusal_of(r, r));
  return v;
}

}  // namespace holdfast::engines::redis::replies
