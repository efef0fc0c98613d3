#include "cli/replace_holder.hpp"

#include "cli/audit_log.hpp"
#include "cli/json_output.hpp"
#include "cli/open_store.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/fenced.hpp>

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>

namespace holdfast::cli {

namespace {

nlohmann::ordered_json json_of(const fenced_lock& l) {
  return {{"name", l.name.str()}, {"token", l.held.value}, {"floor", l.floor.value}};
}

std::string line_of(replacing step, const fenced_lock* l, const std::string& id) {
  switch (step) {
    case replacing::denied:
      return "session " + id + " is denied: its heartbeats are refused";
    case replacing::raised:
      return fmt::format("lock {}: the storage has the floor {}, token {} is refused",
                         l->name.printable(), l->floor.value, l->held.value);
    case replacing::freed:
      return "session " + id + " is removed: its locks are free now";
  }
  return {};
}

/// What this run says and writes down of the one session that it replaces.
class account {
 public:
  account(const std::string& store, const session_id& id, const std::string& fence,
          const replace_options& how)
      : head_{{"store", store},
              {"session", id.str()},
              {"fence", fence},
              {"by", how.by},
              {"why", how.why}},
        text_(how.dry_run ? "dry run, nothing is changed:\n" : "") {}

  nlohmann::ordered_json entry(const char* step) const {
    auto e = head_;
    e["step"] = step;
    return e;
  }
  void add(const std::string& line) { text_ += line + "\n"; }
  const std::string& text() const noexcept { return text_; }
  void add_done(replacing step, const fenced_lock* l, const session_id& id) {
    add(line_of(step, l, id.str()));
    nlohmann::ordered_json e{{"step", name_of(step)}};
    if (l != nullptr) e["lock"] = json_of(*l);
    done_.push_back(std::move(e));
  }
  /// For programs, what was done before something failed.
  const nlohmann::ordered_json& done() const noexcept { return done_; }
  /// To standard output; the exit code where that cannot be written.
  int print_steps(const std::string& text, const report& out) const {
    std::string told = "deny --raise-fence";
    for (std::size_t at = 0; at < text_.size(); at = text_.find('\n', at) + 1) {
      told += (at == 0 ? ": " : "; ") + text_.substr(at, text_.find('\n', at) - at);
    }
    return print_done(text, told, done_, out);
  }

 private:
  nlohmann::ordered_json head_;
  std::string text_;
  nlohmann::ordered_json done_ = nlohmann::ordered_json::array();
};

/// None in a dry run, which finds out whether there could be one.
result<std::optional<audit_log>> log_at(const std::string& given, bool dry_run) {
  using directories = audit_log::directories;
  const auto missing = given.empty() ? directories::make : directories::keep;
  const std::string path = given.empty() ? audit_log::usual_path() : given;
  if (dry_run) {
    if (const auto good = audit_log::look_at(path, missing); !good) return good.error();
    return std::optional<audit_log>();
  }
  auto opened = audit_log::open(path, missing);
  if (!opened) return opened.error();
  return std::optional<audit_log>(std::move(*opened));
}

}  // namespace

void replace_holder::add_to(arguments& verb) {
  verb.add_option("--raise-fence", fence,
                  "Free the locks at once: first raise the floor at this fence, file:/PATH,\n"
                  "to the holder's token + 1. Only for a session of\n"
                  "`run --fenced` with the same URL")
      ->type_name("URL");
  verb.add_option("--wait", wait, "--raise-fence: wait for writes with older tokens (default: 5s)")
      ->type_name("DURATION");
  verb.add_option("--audit", audit,
                  "--raise-fence: append each step to this file (default:\n"
                  "holdfast-audit.log in /var/log for root, else in\n"
                  "$XDG_STATE_HOME or ~/.local/state)")
      ->type_name("FILE");
  verb.add_flag("--dry-run", dry_run,
                "--raise-fence: print what would be done, and change nothing");
}

std::optional<int> replace_holder::check(const report& out) const {
  if (!fence.empty() || (wait.empty() && audit.empty() && !dry_run)) return std::nullopt;
  return out.fail(exit_code::usage, "--wait, --audit and --dry-run need --raise-fence URL");
}

int replace_holder::run(const common_options& common, const target& which, const std::string& by,
                        const std::string& why, const report& out) const {
  replace_options how{.by = by, .why = why};
  how.dry_run = dry_run;
  if (!wait.empty()) {
    const auto limit = parse_duration(wait);
    if (!limit) return out.fail(limit.error(), "--wait");
    how.wait = *limit;
  }
  settings s;
  if (const auto code = load_settings(s, common, out)) return *code;
  auto seen = look_at_store(common, out);
  if (!seen) return seen.code();
  const picture& p = *seen;
  const auto sessions = sessions_of(which, p, out);
  if (!sessions) return sessions.code();
  if (sessions->size() != 1) {
    return out.fail(exit_code::usage,
                    "more than one session holds it; with --raise-fence name one: --session ID");
  }
  const session_id id = sessions->front();
  if (p.all.find(id) == nullptr) {
    return out.fail(exit_code::usage, "no session " + id.str() + " in " + harmless(p.url));
  }
  account say(p.url, id, fence, how);
  auto opened = log_at(audit, dry_run);
  if (!opened) return out.fail(opened.error(), "deny --raise-fence: nothing was done");
  std::optional<audit_log>& log = *opened;
  if (log) {
    if (auto begun = log->append(say.entry("begun")); !begun) {
      return out.fail(begun.error(), "deny --raise-fence: nothing was done");
    }
  }
  how.on_step = [&](replacing step, const fenced_lock* l) {
    say.add_done(step, l, id);
    auto e = say.entry(name_of(step));
    if (l != nullptr) e["lock"] = json_of(*l);
    return log->append(std::move(e));
  };
  const auto done = replace_fenced(store_url(s), id, fence, how);
  if (!done) {
    if (log) {
      auto e = say.entry("failed");
      e["error"] = done.error().message();
      static_cast<void>(log->append(std::move(e)));
    }
    if (!common.json && !say.text().empty() && !dry_run) say.print_steps(say.text(), out);
    return out.fail(done.error(), "deny --raise-fence", &say.done());
  }
  auto json = json_head(p.url);
  json["session"] = id.str();
  json["fence"] = fence;
  json["dry_run"] = dry_run;
  json["locks"] = nlohmann::ordered_json::array();
  for (const auto& l : *done) {
    json["locks"].push_back(json_of(l));
    if (dry_run) {
      say.add(fmt::format("lock {}: floor {} at {}, then free", l.name.printable(), l.floor.value,
                          harmless(fence)));
    }
  }
  const std::string text = common.json ? json_line(json) : say.text();
  return dry_run ? print(text, out) : say.print_steps(text, out);
}

}  // namespace holdfast::cli
