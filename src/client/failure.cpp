#include "client/failure.hpp"

#include "core/errc_of.hpp"

namespace holdfast::client {

error failure(const core::reply& r, std::string_view what, std::string_view url) {
  const auto code = core::errc_of(r.what);
  std::string text(what);
  text.append(" in ").append(url).append(": ");
  text.append(r.text.empty() ? error(code).message() : r.text);
  return r.needs_operator ? error::for_operator(code, std::move(text))
                          : error(code, std::move(text));
}

error look_failure(core::reply r, std::string_view what, std::string_view url) {
  if (r.what == core::status::unknown) r.what = core::status::unavailable;
  return failure(r, what, url);
}

error over_error(session_state to, const std::string& reason, const session_id& id) {
  std::string text = "the session " + id.str() + " is " + name_of(to);
  if (!reason.empty()) text += ": " + reason;
  return {to == session_state::denied ? errc::denied : errc::lost, text + "; open a new session"};
}

error forked_error() {
  return {errc::lost,
          "this process was forked after the object was made, and a forked child holds nothing: "
          "open a new session in the child"};
}

std::stop_token forked_stop() {
  // A callback that is added to its token runs there and then.
  std::stop_source over;
  over.request_stop();
  return over.get_token();
}

error unwaited_error(std::string_view what, std::string_view url) {
  std::string text(what);
  text.append(" in ").append(url);
  text +=
      ": nothing was done, for this is a thread of the library, which must not wait for an answer "
      "that may need it; use a form with a callback, or a thread of the program";
  return {errc::would_block, std::move(text)};
}

error ending_error() {
  return {errc::unavailable,
          "the program is ending, and nothing speaks to the store any more: what is held ends with "
          "its ttl. Close sessions before main() returns"};
}

}  // namespace holdfast::client
