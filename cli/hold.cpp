#include "cli/hold.hpp"

#include "cli/command_line.hpp"
#include "cli/find_command.hpp"
#include "cli/run_options.hpp"
#include "cli/wrapper.hpp"

#include <holdfast/election.hpp>
#include <holdfast/fenced.hpp>
#include <holdfast/lock_name.hpp>

#include <algorithm>
#include <charconv>

namespace holdfast::cli {

namespace {

/// The options as they were typed.
struct typed {
  common_options common;
  std::string name, value, wait, permits, ttl, grace, conflict_exit, label, instance, fenced;
  bool no_wait{}, shared{}, verbose{};
  // An empty one wins over the environment and the files, too.
  arguments::option* labelled{};
  arguments::option* instanced{};

  void add_to(arguments& app, held_as what) {
    const bool is_lock = what == held_as::lock;
    app.add_option("NAME", name,
                   std::string(is_lock ? "The lock" : "The election") +
                       ": 1 to 512 bytes, no control characters")
        ->required();
    if (!is_lock) {
      app.add_option("--value", value,
                     "The text that `holdfast leader NAME` prints while this leads")
          ->required()
          ->type_name("TEXT")
          ->not_empty("an election needs a value; give a text");
    }
    auto* limit = app.add_option("--wait", wait,
                                 "Wait at most this long, or forever (the default). With this\n"
                                 "option it also waits for a store that does not answer yet");
    limit->type_name("DURATION");
    app.add_flag("-n,--no-wait", no_wait, "Give up at once when another session holds it")
        ->excludes(limit);
    if (is_lock) {
      auto* many = app.add_option("--permits", permits,
                                  "Share it: at most N hold it together; all give the same N");
      many->type_name("N");
      app.add_flag("--shared", shared, "Share it with others that give --shared")->excludes(many);
    }
    app.add_option("--ttl", ttl,
                   "How long a holder without heartbeats keeps it: 100ms to 1h;\n"
                   "the store may allow less (max_ttl) or want more: holdfast doctor\n"
                   "(default: the ttl of the store's URL, else 30s, or the store's\n"
                   "max_ttl if less)")
        ->type_name("DURATION");
    app.add_option("--grace", grace,
                   "Time from SIGTERM to SIGKILL, at most half of the ttl\n"
                   "(default: 5s, or a quarter of the ttl if less)")
        ->type_name("DURATION");
    app.add_option("-E,--conflict-exit", conflict_exit, "Exit code instead of 75: 0 to 255")
        ->type_name("N");
    if (is_lock) {
      app.add_option("--fenced", fenced,
                     "Promises that the command writes only what the fence at this URL,\n"
                     "file:/PATH, admits under the resource NAME, so that deny --raise-fence\n"
                     "may end it early")
          ->type_name("URL");
    }
    if (is_lock) {
      labelled = app.add_option("--label", label, "Free text, shown to people")
                     ->type_name("TEXT")
                     ->may_be_empty();
    }
    instanced =
        app.add_option("--instance", instance, "The instance of the program, shown to people")
            ->type_name("TEXT")
            ->may_be_empty();
    common.add_to(app);
    app.add_flag("-v,--verbose", verbose, "Print what happens on standard error");
  }
};

template <class Number>
std::optional<Number> whole_number(const std::string& text, Number least, Number most) {
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value < least || value > most ? std::nullopt : std::optional(value);
}

std::optional<int> read_mode(const typed& t, run_options& into, const report& out) {
  if (t.shared) into.how = mode::shared();
  if (t.permits.empty()) return std::nullopt;
  const auto n = whole_number<std::uint32_t>(t.permits, 1, mode::permits_max);
  if (!n) {
    return out.fail(exit_code::usage, "--permits " + as_typed(t.permits) +
                                          ": must be a whole number from 1 to " +
                                          std::to_string(mode::permits_max));
  }
  into.how = mode::permits(*n);
  return std::nullopt;
}

/// One duration setting; the exit code when it is no duration.
std::optional<int> take_duration(const settings& s, key which, std::optional<duration>& into,
                                 const report& out) {
  if (!s[which].given()) return std::nullopt;
  const auto d = duration_of(s, which);
  if (!d) return out.fail(exit_code::usage, d.error().message());
  into = *d;
  return std::nullopt;
}

std::optional<int> read_durations(const typed& t, const settings& s, run_options& into,
                                  const report& out) {
  std::optional<duration> wait;
  if (auto code = take_duration(s, key::ttl, into.ttl, out)) return code;
  if (auto code = take_duration(s, key::grace, into.grace, out)) return code;
  if (auto code = take_duration(s, key::wait, wait, out)) return code;
  into.wait = t.no_wait ? duration::zero() : wait.value_or(forever);
  return std::nullopt;
}

/// One line for whoever asks who leads, as long as the store can keep.
std::optional<int> check_value(const std::string& value, const report& out) {
  if (value.size() > election::value_max) {
    return out.fail(exit_code::usage, "--value has " + std::to_string(value.size()) +
                                          " bytes; at most " + std::to_string(election::value_max) +
                                          " are allowed");
  }
  if (std::ranges::none_of(value, is_control)) return std::nullopt;
  return out.fail(exit_code::usage, "--value may not hold control characters");
}

std::optional<int> read_command(const char* verb, const words& given, run_options& into,
                                const report& out) {
  if (!given.command || given.command->empty()) {
    return out.fail(exit_code::usage, std::string(verb) +
                                          ": no command; write it after --: holdfast " + verb +
                                          " " + shell_line(given.ours) + " -- COMMAND");
  }
  into.command = *given.command;
  const found_command found = find_command(into.command.front());
  if (found.path.empty()) {
    return out.fail(found.exists ? exit_code::not_executable : exit_code::not_found,
                    harmless(found.reason));
  }
  into.path = found.path;
  return std::nullopt;
}

void put_options_over(settings& s, const typed& t) {
  if (!t.ttl.empty()) s.set_option(key::ttl, t.ttl);
  if (!t.grace.empty()) s.set_option(key::grace, t.grace);
  if (!t.wait.empty()) s.set_option(key::wait, t.wait);
  if (t.labelled != nullptr && t.labelled->given()) s.set_option(key::label, t.label);
  if (t.instanced->given()) s.set_option(key::instance, t.instance);
}

/// What is asked for, or the exit code after a sentence.
std::optional<int> read_options(const typed& t, run_options& into, const report& out) {
  into.name = t.name;
  if (const auto good = lock_name(into.name).check(); !good) {
    return out.fail(exit_code::usage, good.error().message());
  }
  if (auto code = check_value(t.value, out)) return code;
  if (auto code = read_mode(t, into, out)) return code;
  if (t.conflict_exit.empty()) return std::nullopt;
  const auto n = whole_number(t.conflict_exit, 0, 255);
  if (!n) {
    return out.fail(exit_code::usage,
                    "-E " + as_typed(t.conflict_exit) + ": must be a whole number from 0 to 255");
  }
  into.conflict_exit = *n;
  return std::nullopt;
}

/// Before the store is asked, whose refusal would not tell which setting is wrong.
std::optional<int> check_texts(const settings& s, held_as what, const report& out) {
  for (const key which : {key::label, key::instance}) {
    // A leader has its value in place of the label.
    if (which == key::label && what != held_as::lock) continue;
    if (const auto f = fault_of_text(s, which)) return out.fail(f->code, f->name, f->text);
  }
  return std::nullopt;
}

/// Says in the label where it is fenced.
std::optional<int> read_fence(const typed& t, run_options& into, const report& out) {
  if (t.fenced.empty()) return std::nullopt;
  const auto marked = fenced_at(t.fenced, {.label = into.label});
  if (!marked) return out.fail(marked.error(), "--fenced");
  into.label = marked->label;
  into.fenced = t.fenced;
  return std::nullopt;
}

}  // namespace

int hold_and_run(const std::vector<std::string>& after_verb, held_as what) {
  const bool is_lock = what == held_as::lock;
  const char* verb = is_lock ? "run" : "elect";
  arguments app(
      is_lock ? "Hold the lock NAME while COMMAND runs, and stop it before the lock can pass on."
              : "Wait to lead the election NAME, run COMMAND while leading, and stop it before "
                "another can lead.",
      verb,
      is_lock ? "Usage: holdfast run NAME [OPTIONS] -- COMMAND [ARGUMENT...]\n\n"
              : "Usage: holdfast elect NAME --value TEXT [OPTIONS] -- COMMAND "
                "[ARGUMENT...]\n\n");
  typed t;
  t.add_to(app, what);
  const words given = cut_at_dashes(after_verb);
  if (const auto code = parse(app, given)) return *code;
  const report out = t.common.speaker(t.verbose);

  run_options options;
  if (const auto code = read_options(t, options, out)) return *code;
  settings s;
  if (const auto code = load_settings(s, t.common, out)) return *code;
  put_options_over(s, t);
  if (const auto code = read_durations(t, s, options, out)) return *code;
  if (const auto code = check_texts(s, what, out)) return *code;
  if (const auto code = read_command(verb, given, options, out)) return *code;
  if (const auto code = refuse_memory(s, out)) return *code;
  options.store = store_url(s);
  options.label = is_lock ? s[key::label].value : t.value;
  options.elects = !is_lock;
  options.instance = s[key::instance].value;
  if (const auto code = read_fence(t, options, out)) return *code;
  return wrapper(options, s, out).run();
}

}  // namespace holdfast::cli
