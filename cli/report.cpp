#include "cli/report.hpp"

#include "cli/settings.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/lock_name.hpp>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>

namespace holdfast::cli {

using namespace std::chrono_literals;

namespace {

void say(std::string line) {
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool write_out(const std::string& text) {
  const bool taken = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return taken && std::fflush(stdout) == 0;
}

/// The name of an error as people read it. What is refused because somebody holds a lock is refused
/// for another reason elsewhere, as the end of a session that lives.
std::string in_words(std::string name) {
  if (name == name_of(errc::busy)) return "refused";
  std::ranges::replace(name, '_', ' ');
  return name;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

std::string with_store(const std::string& text, const std::string& store_option) {
  constexpr std::string_view command = "holdfast redlock ";
  if (store_option.empty()) return text;
  std::string quoted;
  for (const char c : harmless(without_password(store_option))) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find(command, at)) != std::string::npos;) {
    at += command.size();
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at);
    const std::string action = text.substr(at, end - at);
    if (action != "init" && action != "recover" && action != "status") continue;
    at += action.size();
    if (std::string_view(text).substr(at).starts_with(" --help")) continue;
    // In quotes always: a sentence may go on with a full stop.
    out.append(text, done, at - done).append(" --store '").append(quoted).append("'");
    done = at;
  }
  return out.append(text, done);
}

int report::fail(int code, const std::string& name, const std::string& said,
                 const nlohmann::ordered_json* done) const {
  const std::string text = with_store(said, store_option_);
  if (!json_) {
    // Others have written in it: the reason of a denial, names in a store, paths.
    say(fmt::format("holdfast: {} [{}]", harmless(text), in_words(name)));
    return code;
  }
  nlohmann::ordered_json line{{"version", 1},
                              {"error", {{"code", name}, {"exit", code}, {"message", text}}}};
  if (done != nullptr) line["done"] = *done;
  say(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return code;
}

int report::fail(exit_code code, const std::string& text) const {
  return fail(to_int(code), name_of_exit(code), text);
}

int report::fail(const error& e, const std::string& what,
                 const nlohmann::ordered_json* done) const {
  return fail(to_int(exit_for(e.code())), name_of(e.code()), what + ": " + e.message(), done);
}

int report::answer(exit_code code, const std::string& text) const {
  if (!json_) say("holdfast: " + harmless(text));
  return to_int(code);
}

void report::warn(const std::string& said) const {
  const std::string text = with_store(said, store_option_);
  constexpr std::string_view label = "warning: ";
  if (json_) {
    const bool named = text.starts_with(label);
    const std::string bare = named ? text.substr(label.size()) : text;
    say(nlohmann::json{{"version", 1}, {"warning", bare}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    say("holdfast: " + harmless(text));
  }
}

void report::note(const std::string& text) const {
  if (verbose_ && !json_ && takes_a_line()) say("holdfast: " + harmless(text));
}

bool takes_a_line() {
  pollfd output{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) != 0;
}

int print(const std::string& text, const report& out) {
  if (write_out(text)) return to_int(exit_code::ok);
  return out.fail(exit_code::unavailable, "standard output cannot be written");
}

int print_done(const std::string& text, const std::string& what, const nlohmann::ordered_json& done,
               const report& out) {
  std::signal(SIGPIPE, SIG_IGN);  // Or it would end before it could be told.
  if (write_out(text)) return to_int(exit_code::ok);
  return out.fail(to_int(exit_code::unavailable), name_of_exit(exit_code::unavailable),
                  what + "; only this report of it cannot be written to standard output", &done);
}

std::optional<int> end_unless_read(const report& out) {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  if (::poll(&output, 1, 0) <= 0 || (output.revents & (POLLERR | POLLHUP)) == 0) return {};
  std::raise(SIGPIPE);  // Returns where it is ignored.
  return out.fail(exit_code::unavailable, "nobody reads standard output any more");
}

std::string harmless(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  std::string out;
  while (!text.empty()) {
    const auto ascii = std::ranges::find_if(text, is_ascii) - text.begin();
    const auto taken = std::max<std::size_t>(static_cast<std::size_t>(ascii), 1);
    const auto c = static_cast<unsigned char>(text.front());
    if (ascii > 0) {
      // Beside ASCII a message may show what the name of a lock may.
      out += lock_name(std::string(text.substr(0, taken))).printable();
    } else if (is_control(c)) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += text.front();
    }
    text.remove_prefix(taken);
  }
  return out;
}

std::string rounded(duration d) {
  const auto s = std::max<std::int64_t>(d / 1s, 0);
  if (d < 1s) return fmt::format("{}ms", std::max<std::int64_t>(d / 1ms, 0));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{:02}h", s / 86400, s / 3600 % 24);
}

std::string rounded_up(duration d) {
  const duration unit = d < 1s ? duration(1ms) : d < 1h ? duration(1s) : d < 24h ? 1min : 1h;
  return rounded((d + unit - 1ns) / unit * unit);
}

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

std::string age(wall_time since) {
  if (since == wall_time{}) return "?";
  const auto past = std::chrono::system_clock::now() - since;
  if (past < 1s) return "less than 1s";
  return rounded(std::chrono::duration_cast<duration>(past));
}

std::string ago(wall_time since) { return since == wall_time{} ? "?" : age(since) + " ago"; }

std::string counted(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string who(const owner_info& owner) {
  // A holder that left no record is known by a description alone.
  std::string text = owner.host.empty() && owner.pid == 0
                         ? owner.program
                         : fmt::format("{}:{} {}", owner.host, owner.pid, owner.program);
  if (!owner.instance.empty()) text += "/" + owner.instance;
  if (!owner.label.empty()) text += " (" + owner.label + ")";
  return harmless(text);
}

std::string denial_of(const session_info& s) {
  return fmt::format("by {}: {}", harmless(s.denied_by), harmless(s.denied_why));
}

std::string owner_of(const entry_info& e, const snapshot& all) {
  const session_info* at = all.find(e.session);
  if (at == nullptr) return "session " + e.session.str();
  std::string text = who(at->owner);
  if (at->life == life::dead) {
    text += e.granted ? " (dead; the next arrival takes it)" : " (dead; passed over)";
  } else if (at->denied) {
    text += e.granted ? " (denied; free when its ttl has passed)" : " (denied; never gets it)";
  }
  return text;
}

std::string beats_text(const session_info& s) { return s.beats ? std::to_string(*s.beats) : "?"; }

std::string ttl_text(const session_info& s) {
  return s.ttl == duration::zero() ? "?" : rounded(s.ttl);
}

std::string token_text(const token& t) { return t.value == 0 ? "none" : std::to_string(t.value); }

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - columns_of(row[i]) + 2, ' ');
    }
    out.push_back('\n');
  }
  return out;
}

}  // namespace holdfast::cli
