#include "engines/redis/reply_parts.hpp"

#include "core/cut.hpp"
#include "core/lease.hpp"
#include "core/whole_number.hpp"

namespace holdfast::engines::redis::replies::parts {

using core::cut;
using wire::reply;
using wire::reply_kind;

std::optional<std::uint64_t> number_of(const reply& r) noexcept {
  return r.is(reply_kind::text) ? core::whole_number<std::uint64_t>(r.text) : std::nullopt;
}

std::optional<token> order_of(std::string_view text) noexcept {
  const auto n = core::whole_number<std::uint64_t>(text);
  if (!n || *n == 0 || *n > token_max.value) return std::nullopt;
  return token{*n};
}

std::optional<duration> length_of(std::string_view text) noexcept {
  const auto n = core::whole_number<std::int64_t>(text);
  if (!n || *n < 0 || *n > core::ttl_max.count()) return std::nullopt;
  return duration(*n);
}

std::optional<duration> ttl_of(std::string_view text) noexcept {
  const auto ttl = length_of(text);
  return ttl && *ttl >= core::ttl_min ? ttl : std::nullopt;
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
  const auto n = core::whole_number<std::uint32_t>(text.substr(1));
  if (!n || *n == 0 || *n > mode::permits_max) return std::nullopt;
  return mode::permits(*n);
}

std::optional<core::entry> entry_of(const reply& r) {
  if (!r.is(reply_kind::text)) return std::nullopt;
  std::string_view rest = r.text;
  const auto order = order_of(cut(rest, ':'));
  const auto owner = session_id::parse(cut(rest, ':'));
  const auto inc = core::whole_number<std::uint64_t>(cut(rest, ':'));
  const auto request = core::whole_number<std::uint64_t>(cut(rest, ':'));
  const auto how = mode_of(cut(rest, ':'));
  const auto since = core::whole_number<std::int64_t>(cut(rest, ':'));
  if (!order || !owner || !inc || !request || !how || !since) return std::nullopt;
  return core::entry{.order = *order,
                     .owner = *owner,
                     .inc = *inc,
                     .request = *request,
                     .how = *how,
                     .since = core::wall_time_of(*since)};
}

std::optional<core::session_record> record_of(const session_id& id, const reply& all) {
  if (!all.is(reply_kind::array) || all.elements.size() % 2 != 0) return std::nullopt;
  const auto text = [&](std::string_view key) {
    const reply* found = all.find(key);
    return found != nullptr && found->is(reply_kind::text) ? found->text : std::string();
  };
  const auto number = [&](std::string_view key) {
    return core::whole_number<std::uint64_t>(text(key));
  };
  const auto time = [&](std::string_view key) {
    return core::whole_number<std::int64_t>(text(key));
  };
  // These decide who may take over, and have to be there; the rest is for people.
  const auto inc = number("inc");
  const auto beat = number("beat");
  const auto gate = number("gate");
  const auto ttl = ttl_of(text("ttl"));
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
  s.owner.started = core::wall_time_of(time("started").value_or(0));
  s.opened = core::wall_time_of(time("opened").value_or(0));
  s.denied_by = text("denied_by");
  s.denied_why = text("denied_why");
  return s;
}

}  // namespace holdfast::engines::redis::replies::parts
