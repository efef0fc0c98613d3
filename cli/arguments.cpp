#include "cli/arguments.hpp"

#include "cli/borrowed_words.hpp"
#include "cli/command_line.hpp"
#include "cli/near_match.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::cli {

namespace {

class own_usage : public CLI::Formatter {
 public:
  explicit own_usage(std::string line) : line_(std::move(line)) {}
  std::string make_usage(const CLI::App*, std::string) const override { return line_; }

 private:
  std::string line_;
};

/// Each line that is too long for a terminal in several ones.
std::string wrapped(std::string text) {
  constexpr std::size_t columns = 100;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::size_t space = text.rfind(' ', begin + columns);
    const bool fits = end - begin <= columns || space == std::string::npos || space <= begin;
    if (!fits) text[space] = '\n';
    begin = (fits ? end : space) + 1;
  }
  return text;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& n : o->get_lnames()) names.push_back("--" + n);
  }
  return names;
}

/// What stands behind NAME and is no option is a command without its `--`.
std::optional<std::string> forgotten_dashes(const CLI::App& app, const words& given) {
  const auto extras = app.remaining();
  if (app.get_name() != "run" || given.command || extras.empty() || extras[0].starts_with('-')) {
    return std::nullopt;
  }
  auto cut = std::find(given.ours.begin(), given.ours.end(), extras[0]);
  // NAME may be the same word.
  const auto name = app.get_option("NAME")->results();
  if (cut != given.ours.end() && !name.empty() && name[0] == extras[0]) {
    cut = std::find(cut + 1, given.ours.end(), extras[0]);
  }
  std::vector<std::string> line(given.ours.begin(), cut);
  line.emplace_back("--");
  line.insert(line.end(), cut, given.ours.end());
  return "write -- before the command: holdfast run " + shell_line(line);
}

bool runs_a_command(const CLI::App& app) {
  return app.get_name() == "run" || app.get_name() == "elect";
}

/// Of a short option that there is not: the long ones that begin as it does.
std::string long_form(const CLI::App& app, const std::string& word) {
  if (word.size() != 2) return {};
  std::string found;
  for (const std::string& name : option_names(app)) {
    if (name[2] == word[1]) found += (found.empty() ? "" : " or ") + ("\"" + name + "\"");
  }
  return found.empty() ? found : " (did you mean " + found + "?)";
}

/// Of an option that there is not: what may be meant by it.
std::string meant_by(const CLI::App& app, const std::string& option) {
  const auto names = option_names(app);
  auto known = names;
  if (app.get_option_no_throw("NAME") != nullptr) known.emplace_back("NAME");
  const std::string borrowed = borrowed_option(option, known);
  if (!borrowed.empty()) return borrowed;
  return option.starts_with("--") ? hint(option, names) : long_form(app, option);
}

/// Before the `--` such a word is read as options, and after it as the command.
std::optional<std::string> name_with_dash(const CLI::App& app, const words& given) {
  if (!runs_a_command(app)) return std::nullopt;
  if (app.get_option("NAME")->count() != 0) return std::nullopt;
  const auto may_be_meant = [&](const std::string& word) {
    return word.starts_with('-') &&
           app.get_option_no_throw(word.substr(0, word.find('='))) == nullptr;
  };
  const bool behind =
      given.command && !given.command->empty() && may_be_meant(given.command->front());
  if (!behind && std::ranges::none_of(given.ours, may_be_meant)) return std::nullopt;
  return "NAME is required, and " + app.get_name() + " takes none that begins with a dash";
}

const CLI::Option* option_named(const CLI::App& app, const std::string& word) {
  return word.size() > 1 && word.starts_with('-') ? app.get_option_no_throw(word) : nullptr;
}

/// CLI11 would take the option that follows for the value.
std::optional<std::string> forgotten_value(const CLI::App& app, const words& given) {
  const auto& all = given.ours;
  for (std::size_t i = 0; i + 1 < all.size() && all[i] != "--"; ++i) {
    const CLI::Option* o = option_named(app, all[i]);
    if (o == nullptr || o->get_items_expected_min() == 0) continue;
    if (option_named(app, all[i + 1]) != nullptr) {
      return all[i] + " lacks its value (" + o->get_type_name() + "): after it comes the option " +
             all[i + 1] + ". If that is the value, write " + all[i] + "=" + all[i + 1];
    }
    ++i;
  }
  return std::nullopt;
}

/// CLI11 would take the word behind "--name=" for the value, which is empty.
words with_empty_values(const CLI::App& app, const words& given) {
  words split{{}, given.command};
  bool ours = true;
  for (const std::string& word : given.ours) {
    ours = ours && word != "--";
    const std::string name = word.substr(0, word.find('='));
    const CLI::Option* o = ours && word == name + "=" ? option_named(app, name) : nullptr;
    if (o == nullptr || o->get_items_expected_min() == 0) {
      split.ours.push_back(word);
    } else {
      split.ours.insert(split.ours.end(), {name, ""});
    }
  }
  return split;
}

/// Behind `--` where no command is run; thrown away, `check -- mv a b` would be a success.
std::optional<std::string> needless_command(const CLI::App& app, const words& given) {
  const auto dashes = std::find(given.ours.begin(), given.ours.end(), "--");
  if (dashes == given.ours.end() || app.get_option_no_throw("NAME") != nullptr) return std::nullopt;
  return "it runs no command and takes nothing behind --: leave out " +
         shell_line({dashes, given.ours.end()});
}

/// The first long option that there is not.
std::string unknown_option(const CLI::App& app, const words& given) {
  const auto names = option_names(app);
  for (const std::string& word : given.ours) {
    const std::string option = word.substr(0, word.find('='));
    if (option.size() < 3 || !option.starts_with("--")) continue;
    if (std::find(names.begin(), names.end(), option) == names.end()) return option;
  }
  return {};
}

/// Of a sentence in which there are some.
std::string each_as_typed(std::string_view text) {
  std::string said;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    said += as_typed(word);
    text.remove_prefix(word.size());
    if (text.empty()) break;
    said += ' ';
    text.remove_prefix(1);
  }
  return said;
}

std::string explain(const CLI::App& app, const CLI::ParseError& e, const words& given) {
  if (const auto said = name_with_dash(app, given)) return *said;
  const std::string unknown = unknown_option(app, given);
  if (dynamic_cast<const CLI::ExtrasError*>(&e) == nullptr) {
    // Another word may stand for what is missing.
    const bool lacks = dynamic_cast<const CLI::RequiredError*>(&e) != nullptr;
    const std::string meant = lacks ? borrowed_option(unknown, option_names(app)) : std::string();
    return meant.empty() ? each_as_typed(e.what()) : "unknown option " + as_typed(unknown) + meant;
  }
  if (const auto said = forgotten_dashes(app, given)) return *said;
  if (const auto said = needless_command(app, given)) return *said;
  if (!unknown.empty()) return "unknown option " + as_typed(unknown) + meant_by(app, unknown);
  for (const std::string& word : app.remaining()) {
    if (word.size() < 2 || !word.starts_with('-') || option_named(app, word) != nullptr) continue;
    const std::string said = "unknown option " + as_typed(word);
    // Behind the -- of some is the command.
    const bool takes_one = app.get_option_no_throw("NAME") != nullptr && !runs_a_command(app);
    if (!takes_one) return said + meant_by(app, word);
    return said + "; a NAME that begins with a dash is given after --";
  }
  const bool named = app.get_option_no_throw("NAME") != nullptr;
  return "too many arguments: " + shell_line(app.remaining()) +
         (named ? ". Put a NAME with blanks in it in quotes" : "");
}

}  // namespace

arguments::option* arguments::option::type_name(const std::string& name) {
  inside_->type_name(name);
  return this;
}

arguments::option* arguments::option::required() {
  inside_->required();
  return this;
}

arguments::option* arguments::option::excludes(option* other) {
  inside_->excludes(other->inside_);
  return this;
}

arguments::option::option(CLI::Option* inside) : inside_(inside) {
  if (inside_->get_positional() || inside_->get_items_expected_max() == 0) return;
  inside_->check([this](const std::string& value) {
    return value.empty() && !may_be_empty_ ? "the value is empty: " + advice_ : std::string();
  });
}

arguments::option* arguments::option::not_empty(const std::string& advice) {
  advice_ = advice;
  return this;
}

arguments::option* arguments::option::may_be_empty() {
  may_be_empty_ = true;
  return this;
}

bool arguments::option::given() const { return inside_->count() != 0; }

arguments::arguments(const std::string& about, std::string verb, std::string usage)
    : app_(std::make_unique<CLI::App>(wrapped(about), std::move(verb))) {
  if (!usage.empty()) app_->formatter(std::make_shared<own_usage>(std::move(usage)));
}

arguments::~arguments() = default;

arguments::option* arguments::keep(CLI::Option* made) {
  options_.emplace_back(new option(made));
  return options_.back().get();
}

arguments::option* arguments::add_option(const std::string& names, std::string& into,
                                         const std::string& about) {
  return keep(app_->add_option(names, into, about));
}

arguments::option* arguments::add_flag(const std::string& names, bool& into,
                                       const std::string& about) {
  return keep(app_->add_flag(names, into, about));
}

std::optional<int> parse(arguments& verb, const words& typed) {
  CLI::App& app = verb.app();
  const words given = with_empty_values(app, typed);
  app.get_formatter()->column_width(28);
  app.footer("\n" + exit_code_table(app.get_name()) + "\nSee holdfast(1).");
  const auto wrong = [&](const std::string& what) {
    return report(wants_json(given.ours))
        .fail(exit_code::usage,
              app.get_name() + ": " + what + "; see holdfast " + app.get_name() + " --help");
  };
  if (const auto said = forgotten_value(app, given)) return wrong(*said);
  try {
    std::vector<std::string> reversed(given.ours.rbegin(), given.ours.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return print(app.help("holdfast"));
  } catch (const CLI::ParseError& e) {
    return wrong(explain(app, e, given));
  }
  return std::nullopt;
}

}  // namespace holdfast::cli
