#include "sim/redlock/rule_switches.hpp"
#include "sim/redlock/world.hpp"

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string_view>

namespace holdfast::sim::redlock {

namespace {

constexpr std::string_view usage =
    "usage: sim_redlock [--seed N | --seeds FROM..TO] [--scenario NAME] [--remove RULE] [--trace]\n"
    "                   [--list]\n"
    "One seed is one run. A violation is printed with the command that replays it; exit code 1.\n";

struct request {
  std::uint64_t from{1};
  std::uint64_t to{1};
  std::string_view scenario{"mixed"};
  std::string_view removed;
  bool trace{};
};

bool number(std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool option(std::string_view name, std::string_view value, request& r) {
  if (name == "--seed") {
    const bool ok = number(value, r.from);
    r.to = r.from;
    return ok;
  }
  if (name == "--seeds") {
    const auto dots = value.find("..");
    return dots != std::string_view::npos && number(value.substr(0, dots), r.from) &&
           number(value.substr(dots + 2), r.to) && r.from <= r.to;
  }
  if (name == "--scenario") r.scenario = value;
  if (name == "--remove") r.removed = value;
  return name == "--scenario" || name == "--remove";
}

std::optional<request> parse(int argc, char** argv) {
  request r;
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

void list() {
  std::cout << "scenarios:\n";
  for (const auto& s : scenarios()) std::cout << "  " << s.name << ": " << s.about << '\n';
  std::cout << "rules, each with the scenario that shows what it is for:\n";
  for (const auto& r : rule_switches()) std::cout << "  " << r.name << " (" << r.scenario << ")\n";
}

int run(const request& r, const scenario& s) {
  outcome sum;
  for (std::uint64_t seed = r.from; seed <= r.to; ++seed) {
    world w(s, seed);
    if (r.trace) w.events.print_all();
    const outcome o = w.run();
    sum.steps += o.steps;
    sum.grants += o.grants;
    sum.rejoins += o.rejoins;
    if (!o.found) continue;
    std::cout << o.last_events << *o.found << "\nreplay: sim_redlock --seed " << seed
              << " --scenario " << s.name;
    if (!r.removed.empty()) std::cout << " --remove " << r.removed;
    std::cout << " --trace\n" << seed - r.from + 1 << " seeds, " << sum.steps << " steps\n";
    return EXIT_FAILURE;
  }
  std::cout << r.to - r.from + 1 << " seeds, " << sum.steps << " steps, " << sum.grants
            << " grants, " << sum.rejoins << " rejoins\n";
  return EXIT_SUCCESS;
}

int start(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--list") {
    list();
    return EXIT_SUCCESS;
  }
  const auto r = parse(argc, argv);
  if (!r) {
    std::cerr << usage;
    return 64;
  }
  const auto s = find_scenario(r->scenario);
  std::optional<without_rule> removed;
  for (const auto& rule : rule_switches()) {
    if (rule.name == r->removed) removed.emplace(rule);
  }
  if (!s || (!r->removed.empty() && !removed)) {
    std::cerr << "sim_redlock: no such scenario or rule; see sim_redlock --list\n";
    return 64;
  }
  return run(*r, *s);
}

}  // namespace

}  // namespace holdfast::sim::redlock

int main(int argc, char** argv) { return holdfast::sim::redlock::start(argc, argv); }
