#include "core/fnv1a.hpp"
#include "engines/redis/replies.hpp"
#include "engines/redis/reply_parts.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::engines::redis::replies {

using namespace parts;
using core::status;
using wire::reply;
using wire::reply_kind;

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

/// Over all that is shown.
class fingerprint {
 public:
  void add(std::string_view text) noexcept {
    state_ = core::fnv1a(std::to_string(text.size()) + ":", state_);
    state_ = core::fnv1a(text, state_);
  }
  void add(std::uint64_t n) { add(std::to_string(n)); }
  std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_{core::fnv1a_basis};
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
  const bool has_form =
      is_array(r, 2) && r.elements[0].is(reply_kind::array) && r.elements[1].is(reply_kind::array);
  if (!has_form || !read_sessions(r.elements[0], v.reply) ||
      !read_entries(r.elements[1], v.reply)) {
    static_cast<core::reply&>(v.reply) = refusal_of(r);
    v.reply.sessions.clear();
    v.reply.locks.clear();
    return v;
  }
  v.reply.what = status::ok;
  v.reply.revision = revision_of(v.reply);
  return v;
}

}  // namespace holdfast::engines::redis::replies
