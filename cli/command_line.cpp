#include "cli/command_line.hpp"

#include "cli/lease_page.hpp"
#include "cli/near_match.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <algorithm>
#include <cctype>
#include <utility>

namespace holdfast::cli {

bool wants_json(const std::vector<std::string>& ours) {
  return std::find(ours.begin(), ours.end(), "--json") != ours.end();
}

std::string as_typed(std::string_view word) {
  if (is_for_a_store(word)) return harmless(without_password(word));
  return harmless(without_its_password(word));
}

std::string shell_word(std::string_view word) {
  const std::string text = as_typed(word);
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+?";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& w : words) line += (line.empty() ? "" : " ") + shell_word(w);
  return line;
}

words cut_at_dashes(const std::vector<std::string>& after_verb) {
  const auto cut = std::find(after_verb.begin(), after_verb.end(), "--");
  words w{{after_verb.begin(), cut}, std::nullopt};
  if (cut != after_verb.end()) w.command.emplace(cut + 1, after_verb.end());
  return w;
}

void common_options::add_to(arguments& verb) {
  verb.add_option("--store", store,
                  "The store of the locks (default: HOLDFAST_STORE, the\n"
                  "configuration file, else local: on this machine)")
      ->type_name("URL")
      ->not_empty("leave the option out, or name a store");
  verb.add_flag("--json", json, "JSON for programs; see docs/cli.md");
}

namespace {

void warn_once(const settings& s, const std::string& option, const report& out) {
  // Some verbs read their settings twice.
  static bool warned = false;
  if (std::exchange(warned, true)) return;
  if (!s.hidden().empty()) out.warn("warning: " + s.hidden());
  if (has_password(option)) {
    out.warn(
        "warning: the password in --store can be read by everybody on this machine (ps); use "
        "HOLDFAST_STORE or ?password_file=/PATH in the URL");
  }
  const setting& where = s[key::store];
  if (const std::string file = where.file(); has_password(where.value) && everybody_reads(file)) {
    out.warn("warning: the password in " + file +
             " can be read by every user of this machine; use ?password_file=/PATH in the URL, or "
             "take that right away (chmod o-r)");
  }
  const std::string secret = password_file_in(where.value);
  if (const std::string who = needless_readers_of(secret); !who.empty()) {
    out.warn("warning: the password_file " + harmless(secret) + " can be read by " + who +
             "; take that right away (chmod 600)");
  }
}

}  // namespace

std::optional<int> load_settings(settings& into, const common_options& given, const report& out) {
  if (const auto fault = settings::load(into)) {
    return out.fail(exit_code::configuration, fault->text);
  }
  if (!given.store.empty()) into.set_option(key::store, given.store);
  warn_once(into, given.store, out);
  // Where a script forgot to set its variable, the usual store would be another than that of the
  // scripts which did.
  if (const setting& where = into[key::store]; where.given() && where.value.empty()) {
    return out.fail(exit_code::usage, where.place + " is empty: unset it, or name a store in it");
  }
  return std::nullopt;
}

std::string store_url(const settings& s) {
  return s[key::store].given() ? s[key::store].value : "local:";
}

bool is_default_store(std::string_view url) {
  return url == "local:" || url.starts_with("local:?");
}

fault fault_of(const settings& s, const error& e, std::initializer_list<key> causes,
               const std::string& subject) {
  std::string places;
  for (const key which : causes) {
    if (s[which].from == origin::file) places += (places.empty() ? "" : ", ") + s[which].place;
  }
  std::string text = subject + ": " + e.message();
  if (e.message().starts_with("unknown store URL scheme")) {
    text += hint(scheme_of(store_url(s)), {"local", "redis", "redlock", "etcd", "zookeeper"});
  }
  if (e.code() == errc::invalid_argument && !places.empty()) {
    return {to_int(exit_code::configuration), "configuration", places + ": " + text};
  }
  return {to_int(exit_for(e.code())), name_of(e.code()), text};
}

fault fault_of_value(const settings& s, key which, const std::string& why) {
  std::string subject = info_of(which).name;
  if (s[which].from != origin::file) subject += " (" + s[which].origin_text() + ")";
  return fault_of(s, error(errc::invalid_argument, why), {which}, subject);
}

std::optional<fault> fault_of_text(const settings& s, key which) {
  constexpr std::size_t most = session_options::text_max;
  const std::string& text = s[which].value;
  if (text.size() > most) {
    return fault_of_value(s, which,
                          "it has " + std::to_string(text.size()) + " bytes; at most " +
                              std::to_string(most) + " are allowed");
  }
  if (std::ranges::none_of(text, is_control)) return std::nullopt;
  return fault_of_value(s, which, "it may not hold control characters");
}

std::optional<fault> fault_of_grace(const settings& s, duration grace, duration ttl) {
  if (grace <= grace_limit(ttl)) return std::nullopt;
  const setting& given = s[key::grace];
  const error e(errc::invalid_argument,
                "at most half of the ttl fits (" + print_duration(ttl) + ", " +
                    (s[key::ttl].given() ? s[key::ttl].origin_text() : "the store's") +
                    "), or SIGTERM would come while heartbeats are in time");
  const std::string subject = given.from == origin::option
                                  ? "--grace " + print_duration(grace)
                                  : "grace " + print_duration(grace) + " of " + given.origin_text();
  return fault_of(s, e, {key::grace}, subject + " does not fit");
}

namespace {

/// The store as messages name it: the usual one by its place, where there is one.
std::string shown_url(const settings& s) {
  const std::string url = store_url(s);
  if (!is_default_store(url)) return without_password(url);
  const auto seen = store::find(url);
  return seen ? seen->url : "local";
}

// A list of nodes, or a long path, is long enough to be said once.
bool names(const std::string& message, const std::string& url) {
  const std::string place = url.substr(0, url.find('?'));
  return place.find('/') != std::string::npos && message.find(place) != std::string::npos;
}

}  // namespace

fault fault_in_opening(const settings& s, const error& e, std::initializer_list<key> causes) {
  const std::string url = shown_url(s);
  fault f = fault_of(s, e, causes, "store " + harmless(url));
  if (names(e.message(), url) && f.name == name_of(e.code())) f.text = harmless(e.message());
  return f;
}

int fail_to_open(const settings& s, const error& e, std::initializer_list<key> causes,
                 const report& out) {
  const fault f = fault_in_opening(s, e, causes);
  return out.fail(f.code, f.name, f.text);
}

int fail_in(const std::string& url, const error& e, const report& out) {
  if (!names(e.message(), url)) return out.fail(e, "store " + harmless(url));
  return out.fail(to_int(exit_for(e.code())), name_of(e.code()), harmless(e.message()));
}

std::string scheme_of(std::string_view url) {
  const std::size_t colon = url.find(':');
  std::string scheme(colon == std::string_view::npos ? std::string_view() : url.substr(0, colon));
  for (char& c : scheme) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return scheme;
}

bool is_redlock(std::string_view url) {
  const std::string scheme = scheme_of(url);
  return scheme == "redlock" || scheme == "redlock+tls";
}

std::optional<int> refuse_memory(const settings& s, const report& out) {
  if (scheme_of(store_url(s)) != "memory") return std::nullopt;
  const error e(
      errc::invalid_argument,
      "memory: lives inside one process; no other process would see its locks. Use local:");
  return fail_to_open(s, e, {key::store}, out);
}

void target::add_to(arguments& verb) {
  verb.add_option("NAME", name, "The lock");
  verb.add_option("--session", session, "One session instead of a lock: 32 hexadecimal digits")
      ->type_name("ID");
}

std::optional<int> target::check(const report& out) const {
  if (name.empty() == session.empty()) {
    return out.fail(exit_code::usage, "give either a lock's NAME or --session ID");
  }
  if (!session.empty() && !session_id::parse(session)) {
    return out.fail(exit_code::usage, "--session " + as_typed(session) +
                                          " is not a session id (32 hexadecimal digits)");
  }
  if (session.empty()) {
    if (const auto good = lock_name(name).check(); !good) {
      return out.fail(exit_code::usage, good.error().message());
    }
  }
  return std::nullopt;
}

result<duration> duration_of(const settings& s, key which) {
  auto d = read_duration(which, s[which].value);
  if (d) return d;
  const std::string name = info_of(which).name;
  return error(d.error().code(),
               name + " (" + s[which].origin_text() + "): " + d.error().message());
}

}  // namespace holdfast::cli
