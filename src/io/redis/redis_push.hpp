#pragma once

#include "wire/reply.hpp"

namespace holdfast::io {

/// What SUBSCRIBE and its relatives are answered with.
inline bool confirms_subscription(const wire::reply& r) {
  return !r.elements.empty() && r.elements.front().text.ends_with("subscribe");
}

/// In RESP2 a message of a channel looks like any other array.
inline bool is_message(const wire::reply& r) {
  if (!r.is(wire::reply_kind::array) || r.elements.size() < 3) return false;
  const auto& kind = r.elements.front().text;
  return kind == "message" || kind == "pmessage";
}

}  // namespace holdfast::io
