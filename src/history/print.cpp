#include "core/percent.hpp"
#include "history/operations.hpp"

namespace holdfast::history {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  core::percent_escape(out, text);
  return out;
}

// A name that is a dash would read as no name.
std::string name_field(const std::string& name) {
  if (name.empty()) return "-";
  return name == "-" ? "%2d" : escaped(name);
}

template <class Number>
std::string number_field(Number n) {
  return n == 0 ? "-" : std::to_string(n);
}

std::string mode_field(const mode& m) {
  if (m.is_shared()) return " mode=shared";
  return m.is_permits() ? " mode=permits:" + std::to_string(m.limit()) : "";
}

}  // namespace

const char* name_of(operation what) noexcept {
  for (const auto& [value, word] : operation_words) {
    if (value == what) return word;
  }
  return "unknown";
}

const char* name_of(model m) noexcept {
  switch (m) {
    case model::mutex:
      return "mutex";
    case model::fenced_mutex:
      return "fenced mutex";
    case model::semaphore:
      return "semaphore";
    case model::fenced_register:
      return "fenced register";
  }
  return "unknown";
}

std::string print(const line& l) {
  std::string text = name_of(l.what);
  text += ' ' + l.caller + ' ' + name_field(l.lock) + ' ' + number_field(l.token.value) + ' ' +
          std::to_string(l.invoked) + ' ' + number_field(l.returned) + ' ' + l.outcome +
          mode_field(l.mode);
  if (l.value) text += " value=" + escaped(*l.value);
  return text + '\n';
}

}  // namespace holdfast::history
