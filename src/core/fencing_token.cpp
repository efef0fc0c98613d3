#include <holdfast/fencing_token.hpp>

#include "core/control_character.hpp"
#include "core/percent.hpp"
#include "core/whole_number.hpp"

#include <algorithm>

namespace holdfast {

namespace {

constexpr std::string_view separator = ":";
constexpr std::size_t shown_max = 80;

error not_a_token(std::string_view text, const std::string& why) {
  std::string shown = lock_name(std::string(text.substr(0, shown_max))).printable();
  if (text.size() > shown_max) shown += "...";
  return {errc::invalid_argument,
          "'" + shown + "' is not a fencing token: " + why + "; the form is VALUE:LOCK:STORE"};
}

result<token> read_value(std::string_view digits) {
  const auto wrong = [](const std::string& why) { return error(errc::invalid_argument, why); };
  if (digits.empty()) return wrong("it has no value before the first ':'");
  if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
    return wrong("its value is not a decimal number");
  }
  // One token has one text, so that a storage which knows nothing of the form may compare the
  // texts.
  if (digits.front() == '0') {
    return wrong(digits.size() == 1 ? "its value is 0, which is no token" : "a leading zero");
  }
  const auto value = core::whole_number<std::uint64_t>(digits);
  if (!value || *value > token_max.value) return wrong("its value is above 2^53 - 1");
  return token{*value};
}

result<token_source> read_source(std::string_view text, std::size_t offset) {
  const auto colon = text.find(separator);
  if (colon == std::string_view::npos) {
    return error(errc::invalid_argument, "it names no store after the lock");
  }
  auto lock = core::percent_unescape(text.substr(0, colon), separator, offset);
  if (!lock) return lock.error();
  auto store = core::percent_unescape(text.substr(colon + 1), {}, offset + colon + 1);
  if (!store) return store.error();
  token_source from{store_identity(std::move(*store)), lock_name(std::move(*lock))};
  if (auto good = from.check(); !good) return good.error();
  return from;
}

}  // namespace

result<void> store_identity::check() const {
  if (text_.empty() || text_.size() > bytes_max) {
    return error(errc::invalid_argument, "a store identity has " + std::to_string(text_.size()) +
                                             " bytes; it needs 1 to " + std::to_string(bytes_max));
  }
  const auto control = std::ranges::find_if(text_, core::is_control);
  if (control == text_.end()) return {};
  return error(errc::invalid_argument, "store identity \"" + printable() + "\": byte " +
                                           std::to_string(control - text_.begin()) +
                                           " is a control character; identities have none");
}

result<void> token_source::check() const {
  if (auto named = lock.check(); !named) return named;
  return store.check();
}

std::string token_source::printable() const {
  return "lock " + lock.printable() + " of store " + store.printable();
}

std::string token_source::str() const {
  std::string text;
  core::percent_escape(text, lock.str(), separator);
  text += separator;
  core::percent_escape(text, store.str());
  return text;
}

result<token_source> token_source::parse(std::string_view text) {
  auto from = read_source(text, 0);
  if (from) return from;
  return error(errc::invalid_argument,
               "not a token's source: " + from.error().message() + "; the form is LOCK:STORE");
}

result<void> fencing_token::check() const {
  if (value.value == 0) {
    return error(errc::invalid_argument,
                 "token 0 of " + from.printable() +
                     " fences nothing: every token is above 0; a store that gives none "
                     "(tokens=off) shows 0");
  }
  if (value > token_max) {
    return error(errc::invalid_argument, "token " + std::to_string(value.value) + " of " +
                                             from.printable() +
                                             " is above 2^53 - 1, the largest there is");
  }
  return from.check();
}

std::string fencing_token::str() const {
  return std::to_string(value.value).append(separator).append(from.str());
}

result<fencing_token> fencing_token::parse(std::string_view text) {
  if (text.size() > wire_max) {
    return not_a_token(text, "it has " + std::to_string(text.size()) + " bytes, and " +
                                 std::to_string(wire_max) + " are allowed");
  }
  const auto colon = text.find(separator);
  if (colon == std::string_view::npos) return not_a_token(text, "it names no lock and no store");
  const auto value = read_value(text.substr(0, colon));
  if (!value) return not_a_token(text, value.error().message());
  auto from = read_source(text.substr(colon + 1), colon + 1);
  if (!from) return not_a_token(text, from.error().message());
  return fencing_token{std::move(*from), *value};
}

}  // namespace holdfast
