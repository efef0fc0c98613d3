// Any stream of replies as the answers to every command of redis://: nothing is out of its bounds,
// and what has no known form is an unknown outcome.
#include "core/lease.hpp"
#include "engines/redis/replies.hpp"

#include "fuzz/target.hpp"
#include "wire/resp_reader.hpp"

#include <algorithm>

using namespace holdfast;
using namespace holdfast::engines::redis;
using core::status;

namespace {

void must_be_sound(const core::queue_view& v) {
  MUST(v.mine <= token_max);
  if (v.what == status::ok) MUST(v.mine.value > 0 && v.ahead.empty());
  if (v.what != status::queued && v.what != status::busy) return;
  MUST(!v.ahead.empty() && v.first && (v.what == status::busy) == (v.mine.value == 0));
  MUST(std::ranges::is_sorted(v.ahead, {}, &core::rival::order));
  for (const auto& r : v.ahead) {
    MUST(r.ttl >= core::ttl_min && r.ttl <= core::ttl_max);
    MUST(v.what == status::busy || r.order < v.mine);
  }
  for (const token t : v.targets) MUST(t < v.mine);
}

void all_others(const wire::reply& r) {
  MUST(replies::refusal_of(r).what != status::ok);
  static_cast<void>(replies::open(r));
  static_cast<void>(replies::beat(r, 1));
  static_cast<void>(replies::close(r));
  static_cast<void>(replies::leave(r));
  static_cast<void>(replies::take(r));
  MUST(replies::deny(r).reply.ttl <= core::ttl_max);
  static_cast<void>(replies::replicas(r));
  static_cast<void>(replies::woken(r));
  if (const auto record = replies::look(r)) {
    if (record->whole) MUST(record->floor <= token_max.value && record->max_ttl > duration::zero());
  }
  if (const auto page = replies::list(r)) MUST(!page->cursor.empty());
  const auto seen = replies::glance(r);
  if (seen.reply.what != status::ok) MUST(seen.reply.there.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wire::resp_reader reader;
  reader.feed({reinterpret_cast<const char*>(data), size});
  while (const wire::reply* r = reader.next()) {
    must_be_sound(replies::view(*r).reply);
    all_others(*r);
  }
  return 0;
}
