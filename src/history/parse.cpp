#include "core/cut.hpp"
#include "core/percent.hpp"
#include "core/whole_number.hpp"
#include "history/operations.hpp"

#include <algorithm>

namespace holdfast::history {

namespace {

using core::cut;

constexpr std::string_view first_line = header.substr(0, header.size() - 1);

error damaged(std::string what) { return {errc::damaged, std::move(what)}; }

std::string quoted(std::string_view text) {
  constexpr std::size_t shown = 40;
  std::string out;
  core::percent_escape(out, text.substr(0, shown));
  return "\"" + out + (text.size() > shown ? "...\"" : "\"");
}

/// A decimal number without sign and leading zeros.
template <class Number>
std::optional<Number> decimal(std::string_view text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  if (text[0] == '0' && text.size() > 1) return std::nullopt;
  return core::whole_number<Number>(text);
}

bool is_caller(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == ':' || c == '-';
  });
}

bool is_outcome(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

/// Reads one line, field after field; every step answers what is wrong, or nothing.
class line_reader {
 public:
  explicit line_reader(std::string_view text) : rest_(text) {}

  result<line> read() {
    using step = std::optional<error> (line_reader::*)();
    for (const step s :
         {&line_reader::who_asked_what, &line_reader::about_what, &line_reader::when,
          &line_reader::how_it_ended, &line_reader::attributes, &line_reader::together}) {
      if (auto bad = (this->*s)()) return *std::move(bad);
    }
    return std::move(read_);
  }

 private:
  std::optional<error> who_asked_what() {
    const auto word = cut(rest_, ' ');
    const auto known = std::find_if(operation_words.begin(), operation_words.end(),
                                    [&](const auto& w) { return w.second == word; });
    if (known == operation_words.end()) return damaged(quoted(word) + " is no operation");
    read_.what = known->first;
    const auto caller = cut(rest_, ' ');
    if (!is_caller(caller)) {
      return damaged("the caller " + quoted(caller) + " is not of letters, digits and .:-");
    }
    read_.caller = caller;
    return std::nullopt;
  }

  std::optional<error> about_what() {
    const auto name = cut(rest_, ' ');
    // "-" stands for no lock, so a lock of that name has its code.
    if (name == "%2d") {
      read_.lock = "-";
    } else if (name != "-") {
      auto text = core::percent_unescape(name);
      if (!text || text->empty()) {
        return damaged("the lock " + quoted(name) + " is not written as a name is" +
                       (text ? "" : ": " + text.error().message()));
      }
      read_.lock = *std::move(text);
    }
    const auto number = cut(rest_, ' ');
    if (number == "-") return std::nullopt;
    const auto value = decimal<std::uint64_t>(number);
    if (!value || *value == 0 || *value > token_max.value) {
      return damaged("the token " + quoted(number) + " is not - and not from 1 to 2^53 - 1");
    }
    read_.token = token{*value};
    return std::nullopt;
  }

  std::optional<error> when() {
    const auto from = cut(rest_, ' ');
    const auto invoked = decimal<std::int64_t>(from);
    if (!invoked) return damaged("the time of call " + quoted(from) + " is no number");
    read_.invoked = *invoked;
    const auto to = cut(rest_, ' ');
    if (to == "-") return std::nullopt;
    const auto returned = decimal<std::int64_t>(to);
    if (!returned)
      return damaged("the time of return " + quoted(to) + " is neither - nor a number");
    if (*returned < *invoked) return damaged("it returned before it was called");
    // In a line, zero means that it never did.
    if (*returned == 0) return damaged("it returned at zero");
    read_.returned = *returned;
    return std::nullopt;
  }

  std::optional<error> how_it_ended() {
    const auto word = cut(rest_, ' ');
    if (!is_outcome(word)) return damaged("the outcome " + quoted(word) + " is no name");
    if ((word == pending) != (read_.returned == 0)) {
      return damaged("what is pending has no time of return, and nothing else has none");
    }
    read_.outcome = word;
    return std::nullopt;
  }

  std::optional<error> attributes() {
    while (!rest_.empty()) {
      const auto field = cut(rest_, ' ');
      if (auto bad = field.starts_with("value=") ? value(field.substr(6)) : how(field)) return bad;
    }
    return std::nullopt;
  }

  std::optional<error> value(std::string_view text) {
    auto plain = core::percent_unescape(text);
    if (!plain || read_.value) {
      return damaged(plain ? "two values" : "the value: " + plain.error().message());
    }
    if (read_.what != operation::write && read_.what != operation::read) {
      return damaged("only a write and a read have a value");
    }
    read_.value = *std::move(plain);
    return std::nullopt;
  }

  std::optional<error> how(std::string_view field) {
    constexpr std::string_view permits = "mode=permits:";
    if (read_.mode != mode::exclusive()) return damaged("two modes");
    const bool is_read = read_.what == operation::read;
    if (read_.what != operation::acquire && !is_read && field.starts_with("mode=")) {
      return damaged("only an acquire and a read have a mode");
    }
    if (is_read && field.starts_with(permits)) {
      return damaged(
          "a read has no permits: each slot is storage of its own, with a name of its own");
    }
    if (field == "mode=shared") {
      read_.mode = mode::shared();
      return std::nullopt;
    }
    const auto n = field.starts_with(permits) ? decimal<std::uint32_t>(field.substr(permits.size()))
                                              : std::nullopt;
    if (!n || *n == 0 || *n > mode::permits_max) {
      return damaged(quoted(field) +
                     " is not value=, mode=shared or mode=permits:N with N from 1 " + "to " +
                     std::to_string(mode::permits_max));
    }
    read_.mode = mode::permits(*n);
    return std::nullopt;
  }

  /// What only the fields together show.
  std::optional<error> together() {
    const auto what = read_.what;
    const bool about_a_lock = what == operation::acquire || what == operation::check ||
                              what == operation::write || what == operation::read ||
                              what == operation::raise || what == operation::release;
    const std::string word = std::string("this ") + name_of(what);
    if (about_a_lock == read_.lock.empty()) {
      return damaged(word +
                     (about_a_lock ? " names no lock" : " is not about a lock, and names one"));
    }
    if (!about_a_lock && read_.token.value != 0) {
      return damaged(word + " is not about a lock, and has a token");
    }
    // A fenced register knows values by their tokens; without a value a write is only a proof
    // that the lock was held.
    const bool names_a_token =
        what == operation::raise || (what == operation::write && read_.value);
    if (names_a_token && read_.token.value == 0) return damaged(word + " has no token");
    if (what == operation::read && read_.mode.is_shared() && read_.token.value == 0) {
      return damaged("this read has a mode and no token, so nothing was compared");
    }
    return std::nullopt;
  }

  std::string_view rest_;
  line read_;
};

error on_line(std::size_t at, const std::string& what) {
  return {errc::damaged, "line " + std::to_string(at) + ": " + what};
}

}  // namespace

result<std::vector<line>> parse(std::string_view text) {
  // What was cut may still read well, and say something else: a shorter value, an earlier return.
  const bool whole = text.ends_with('\n');
  const auto first = cut(text, '\n');
  if (first != first_line) {
    const bool ours = first.starts_with("holdfast-history ");
    return on_line(1, ours ? quoted(first) + " is a version that this program does not know"
                           : "a history begins with \"" + std::string(first_line) +
                                 "\", not with " + quoted(first));
  }
  if (text.empty() && !whole) return on_line(1, "it was cut: the end of the line is missing");
  std::vector<line> all;
  for (std::size_t at = 2; !text.empty(); ++at) {
    const bool last = text.find('\n') == std::string_view::npos;
    const auto one = cut(text, '\n');
    if (last && !whole) return on_line(at, "it was cut: the end of the line is missing");
    if (one.empty() || one[0] == '#') continue;
    // The fields are cut off at spaces, so nothing would be seen behind the last one.
    if (one.ends_with(' ')) return on_line(at, "it ends with a space");
    auto l = line_reader(one).read();
    if (!l) return on_line(at, l.error().message());
    l->at = at;
    all.push_back(*std::move(l));
  }
  return all;
}

}  // namespace holdfast::history
