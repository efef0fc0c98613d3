#pragma once

#include "core/engine.hpp"

#include <string>
#include <utility>

namespace holdfast::core {

/// A reply that says what became of the request, and nothing else yet.
template <class R>
R reply_with(reply what) {
  R r;
  static_cast<reply&>(r) = std::move(what);
  return r;
}
template <class R>
R reply_with(status what, std::string text = {}) {
  R r;
  r.what = what;
  r.text = std::move(text);
  return r;
}
/// What `why` says, as the outcome of what it was a part of.
inline reply reply_as(status what, reply why) {
  why.what = what;
  return why;
}

// Texts that are the same whichever engine answers.

inline std::string no_session_text(const session_id& id) {
  return "session " + id.str() + " is not there";
}

inline std::string too_many_text(const std::string& most = std::to_string(waiters_max)) {
  return "more than " + most + " hold or wait; try again when some have left, or use more names";
}

}  // namespace holdfast::core
