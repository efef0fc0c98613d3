#include "wire/reply.hpp"

namespace holdfast::wire {

const char* name_of(reply_kind kind) noexcept {
  switch (kind) {
    case reply_kind::null:
      return "null";
    case reply_kind::status:
      return "a status";
    case reply_kind::error:
      return "an error";
    case reply_kind::integer:
      return "an integer";
    case reply_kind::text:
      return "a string";
    case reply_kind::too_long:
      return "a string that is too long";
    case reply_kind::boolean:
      return "a boolean";
    case reply_kind::real:
      return "a double";
    case reply_kind::big_number:
      return "a big number";
    case reply_kind::array:
      return "an array";
    case reply_kind::map:
      return "a map";
    case reply_kind::set:
      return "a set";
    case reply_kind::push:
      return "a push";
  }
  return "unknown";
}

const reply* reply::find(std::string_view key) const noexcept {
  // RESP2 has no maps: there keys and values come in turns in an array.
  if (kind != reply_kind::map && kind != reply_kind::array) return nullptr;
  for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
    const reply& candidate = elements[i];
    const bool named = candidate.is(reply_kind::text) || candidate.is(reply_kind::status);
    if (named && candidate.text == key) return &elements[i + 1];
  }
  return nullptr;
}

}  // namespace holdfast::wire
