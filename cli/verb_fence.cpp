#include "cli/json_output.hpp"
#include "cli/open_store.hpp"
#include "cli/verbs.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/fence.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace holdfast::cli {

namespace {

struct typed {
  std::string action, url, resource, token, wait;
  bool shared{}, json{};

  void add_to(arguments& app) {
    app.add_option("ACTION", action,
                   "check: admit TOKEN if it is not stale; it becomes the floor\n"
                   "raise: refuse every token below TOKEN from now on\n"
                   "show: the floor")
        ->required();
    app.add_option("URL", url, "The floor file: file:/PATH; made by check and raise")->required();
    app.add_option("RESOURCE", resource, "The name of what is protected, of your choice")
        ->required();
    app.add_option("TOKEN", token,
                   "check, raise: $HOLDFAST_FENCING_TOKEN, or a number (which counts as a\n"
                   "token of the lock that the resource is bound to)");
    app.add_flag("--shared", shared, "check: the lock is held with --shared");
    app.add_option("--wait", wait, "raise: wait for writes with older tokens (default: 5s)")
        ->type_name("DURATION");
    app.add_flag("--json", json, "JSON for programs; see docs/cli.md");
  }
};

std::optional<int> check(const typed& t, const report& out) {
  const auto wrong = [&](const std::string& text) {
    return out.fail(exit_code::usage, "fence: " + text);
  };
  const bool shows = t.action == "show";
  if (!shows && t.action != "check" && t.action != "raise") {
    return wrong("unknown action \"" + as_typed(t.action) + "\"; it is check, raise or show");
  }
  if (shows && !t.token.empty()) return wrong("show takes no token");
  if (!shows && t.token.empty() && !t.url.starts_with("file:")) {
    return wrong(t.action + " needs a URL, a resource and a token; \"" + as_typed(t.url) +
                 "\" is no URL of a fence, which is file:/PATH");
  }
  if (!shows && t.token.empty()) {
    return wrong(t.action +
                 " needs a token: $HOLDFAST_FENCING_TOKEN, which the command of run finds. It is "
                 "empty on a store that gives no tokens (tokens=off), and where run warns of it");
  }
  if (t.shared && t.action != "check") return wrong("--shared is for check");
  if (!t.wait.empty() && t.action != "raise") return wrong("--wait is for raise");
  return std::nullopt;
}

bool is_number(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// What a bare number is bound to where no token has named its source yet.
token_source unnamed(const std::string& resource) {
  return {store_identity("unnamed"), lock_name(resource)};
}

/// What was asked for, read before a file is made.
struct request {
  fencing_token given;
  bool bare{};  ///< A number alone.
  enter_options how{};
};

result<fencing_token> read_token(const typed& t) {
  if (!is_number(t.token)) {
    auto read = fencing_token::parse(t.token);
    if (read) return read;
    return read.error().reworded(read.error().message() + ", or here a number alone");
  }
  if (t.token.size() > 1 && t.token.front() == '0') {
    return error(errc::invalid_argument,
                 "'" + t.token + "' is not a fencing token: a leading zero");
  }
  fencing_token given{unnamed(t.resource), token{}};
  const auto* end = t.token.data() + t.token.size();
  const auto [at, failed] = std::from_chars(t.token.data(), end, given.value.value);
  if (failed != std::errc() || given.value > token_max) {
    return error(errc::invalid_argument,
                 "token " + t.token + " is above 2^53 - 1, the largest there is");
  }
  if (auto good = given.check(); !good) return good.error();
  return given;
}

result<request> read_request(const typed& t) {
  if (t.action == "show") return request{{unnamed(t.resource), token{}}};
  auto given = read_token(t);
  if (!given) return given.error();
  request r{std::move(*given), is_number(t.token)};
  if (t.wait.empty()) return r;
  const auto wait = parse_duration(t.wait);
  if (!wait) return wait.error();
  r.how.wait = *wait;
  return r;
}

bool takes_numbers(const typed& t, const fence& f) { return f.source() == unnamed(t.resource); }

error not_a_number(const fencing_token& given) {
  return {errc::invalid_argument,
          "a token of " + given.from.printable() +
              " came to a resource that is bound to bare numbers, for one was the first to come; "
              "give the number alone if all of them are of one lock, or name another resource"};
}

result<void> carry_out(const typed& t, request r, fence& f) {
  if (t.action == "show") return {};
  const auto bound = f.source();
  if (bound && r.bare) r.given.from = *bound;
  if (t.action == "check") return f.admit(r.given, t.shared ? mode::shared() : mode::exclusive());
  return r.bare ? f.raise(r.given.value, r.how) : f.raise(r.given, r.how);
}

nlohmann::ordered_json json_of(const typed& t, const fence& f) {
  nlohmann::ordered_json json{{"version", json_version},
                              {"fence", t.url},
                              {"resource", t.resource},
                              {"floor", f.floor().value},
                              {"newest", f.newest().value},
                              {"lock", nullptr},
                              {"store", nullptr}};
  if (const auto from = f.source()) {
    json["lock"] = from->lock.str();
    json["store"] = from->store.str();
  }
  return json;
}

std::string text_of(const typed& t, const fence& f) {
  const auto from = f.source();
  std::string text = fmt::format("{} in {}: tokens below {} are refused", harmless(t.resource),
                                 harmless(t.url), f.floor().value);
  if (f.newest() > f.floor()) {
    text += fmt::format(", exclusive ones below {}", f.newest().value);
  }
  if (takes_numbers(t, f)) return text + "; bound to bare numbers\n";
  return text + (from ? "; bound to " + from->printable() : "; bound to no lock yet") + "\n";
}

}  // namespace

int verb_fence(const std::vector<std::string>& after_verb) {
  arguments app(
      "The gate at a storage, for scripts: refuses the token of a holder that was replaced. "
      "check ends with 0 when TOKEN is not older than any that was admitted, with 77 when it is "
      "stale. It does not cover the write that follows: a script that may be paused in between "
      "needs storage that compares the token itself (docs/fence.md).",
      "fence");
  typed t;
  t.add_to(app);
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out(t.json);
  if (const auto code = check(t, out)) return *code;
  const std::string subject = "fence " + as_typed(t.resource) + " in " + as_typed(t.url);
  const auto asked = read_request(t);
  if (!asked) return out.fail(asked.error(), subject);
  auto f = fence::open(t.url, t.resource, older_passes::wait,
                       t.action == "show" ? missing::refuse : missing::create);
  if (!f) return out.fail(f.error(), subject);
  if (const auto done = carry_out(t, *asked, *f); !done) {
    const bool named = done.error() == errc::invalid_argument && !asked->bare;
    return out.fail(named && takes_numbers(t, *f) ? not_a_number(asked->given) : done.error(),
                    subject);
  }
  if (t.action == "show") return print(t.json ? json_line(json_of(t, *f)) : text_of(t, *f), out);
  if (!t.json) return 0;
  const auto json = json_of(t, *f);
  const char* done = t.action == "check" ? ": the token is admitted" : ": the floor is raised";
  return print_done(json_line(json), subject + done, nlohmann::ordered_json::array({json}), out);
}

}  // namespace holdfast::cli
