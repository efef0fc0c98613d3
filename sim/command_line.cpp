#include "sim/command_line.hpp"

#include "core/whole_number.hpp"

namespace holdfast::sim {

namespace {

constexpr std::uint64_t seconds_max = 100'000;

bool number(std::string_view text, std::uint64_t& out) {
  const auto read = core::whole_number<std::uint64_t>(text);
  out = read.value_or(0);
  return read.has_value();
}

bool range(std::string_view text, command_line& r) {
  const auto dots = text.find("..");
  return dots != std::string_view::npos && number(text.substr(0, dots), r.from) &&
         number(text.substr(dots + 2), r.to) && r.from <= r.to;
}

bool option(std::string_view name, std::string_view value, command_line& r) {
  if (name == "--seeds") return range(value, r);
  if (name == "--seconds") {
    return number(value, r.seconds) && r.seconds > 0 && r.seconds < seconds_max;
  }
  if (name == "--seed") {
    const bool ok = number(value, r.from);
    r.to = r.from;
    return ok;
  }
  if (name == "--scenario") r.scenario = value;
  if (name == "--remove") r.removed = value;
  return name == "--scenario" || name == "--remove";
}

}  // namespace

std::optional<command_line> parse(int argc, char** argv) {
  command_line r;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--trace") {
      r.trace = true;
    } else if (i + 1 >= argc || !option(name, argv[++i], r)) {
      return std::nullopt;
    }
  }
  return r;
}

std::string usage_of(std::string_view program) {
  const std::string first = "usage: " + std::string(program) + " ";
  return first + "[--seed N | --seeds FROM..TO] [--scenario NAME] [--remove RULE]\n" +
         std::string(first.size(), ' ') +
         "[--seconds S] [--trace] [--list]\n"
         "One seed is one run. A violation is printed with the command that replays it; exit code "
         "1.\n";
}

std::string replayed_with(const command_line& r) {
  std::string text = " --scenario " + std::string(r.scenario);
  if (!r.removed.empty()) text += " --remove " + std::string(r.removed);
  if (r.seconds > 0) text += " --seconds " + std::to_string(r.seconds);
  return text + " --trace\n";
}

}  // namespace holdfast::sim
