#include "cli/command_line.hpp"
#include "cli/json_output.hpp"
#include "cli/lease_page.hpp"
#include "cli/verbs.hpp"

#include <holdfast/duration.hpp>

#include <fmt/core.h>

#include <cstdlib>

namespace holdfast::cli {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Until the guardian would kill this command; zero once it has heard that the lease is over.
duration left_of(const lease_page& page) {
  if (page.now.load(std::memory_order_acquire) != lease_page::stage::held) return duration::zero();
  const time_point end(duration(page.kill_at.load(std::memory_order_acquire)));
  return std::max(end - clock::now(), duration::zero());
}

int answer(duration left, duration needed, const std::string& name, const report& out) {
  const bool lost = left <= duration::zero();
  if (out.json()) {
    nlohmann::ordered_json json{{"version", json_version},
                                {"lock", name},
                                {"valid", !lost},
                                {"enough", !lost && left >= needed},
                                {"remaining_ms", left / std::chrono::milliseconds(1)}};
    if (const int code = print(json_line(json), out); code != 0) return code;
  } else if (out.verbose()) {
    const std::string text = fmt::format("{}\n", left / std::chrono::milliseconds(1));
    if (const int code = print(text, out); code != 0) return code;
  }
  if (lost) {
    return out.fail(exit_code::lost, "lock \"" + lock_name(name).printable() +
                                         "\": the lease is over; stop what it protects");
  }
  return to_int(left >= needed ? exit_code::ok : exit_code::not_obtained);
}

}  // namespace

int verb_check(const std::vector<std::string>& after_verb) {
  arguments app(
      "Inside `holdfast run`: 0 while at least --for DURATION of the lease is left, 75 when less "
      "is left, 76 when it is lost.",
      "check");
  std::string needed_text = "0s";
  bool verbose{};
  bool json{};
  app.add_option("--for", needed_text, "How much of the lease must be left (default: 0s)")
      ->type_name("DURATION");
  app.add_flag("-v,--verbose", verbose, "Print the milliseconds that are left");
  app.add_flag("--json", json, "JSON for programs; see docs/cli.md");
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out(json, verbose);

  const auto needed = parse_duration(needed_text);
  if (!needed) return out.fail(exit_code::usage, "--for: " + needed.error().message());
  const std::string address = variable("HOLDFAST_LEASE");
  const auto id = session_id::parse(variable("HOLDFAST_SESSION"));
  if (address.empty() || !id) {
    return out.fail(exit_code::usage,
                    std::string("check works only in a command started by holdfast run (") +
                        (address.empty() ? "HOLDFAST_LEASE is empty or not set)"
                                         : "HOLDFAST_SESSION is no session id)"));
  }
  const auto lease = lease_memory::look(address, *id);
  if (!lease)
    return out.fail(lease.error(), "lock \"" + harmless(variable("HOLDFAST_LOCK")) + "\"");
  return answer(left_of(lease->page()), *needed, variable("HOLDFAST_LOCK"), out);
}

}  // namespace holdfast::cli
