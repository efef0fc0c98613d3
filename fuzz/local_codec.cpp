// Any bytes as a stored record: refused, or read and written again without a change of meaning.
#include "engines/local/codec.hpp"

#include "fuzz/target.hpp"

#include <vector>

using namespace holdfast;
using namespace holdfast::engines;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> value(first, first + size);
  const local::bytes stored(value.data(), value.size());

  static_cast<void>(local::decode_head(stored));
  if (const auto record = local::decode_session({}, stored)) {
    const auto head = local::decode_head(stored);
    MUST(head && head->at == record->at && head->gate == record->gate && head->ttl == record->ttl);
    const auto written = local::encode(*record);
    const auto again = local::decode_session({}, written);
    MUST(again && again->at == record->at && again->owner.host == record->owner.host);
    MUST(again->denied_why == record->denied_why && again->where == record->where);
  }
  if (const auto e = local::decode_entry(token{1}, stored)) {
    const auto written = local::encode(*e, local::name_kept_in(stored));
    const auto again = local::decode_entry(token{1}, written);
    MUST(again && again->slot == e->slot && again->what.how == e->what.how);
    MUST(again->what.owner == e->what.owner && again->what.request == e->what.request);
    MUST(local::name_kept_in(written) == local::name_kept_in(stored));
  }
  return 0;
}
