#include "client/store_core.hpp"

#include "client/engine_table.hpp"
#include "client/failure.hpp"
#include "core/lease.hpp"
#include "core/store_url.hpp"
#include "io/file/state_directory.hpp"
#include "io/process/fork_mark.hpp"
#include "io/process/per_process.hpp"
#include "io/thread/background.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/lock_name.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

/// From the text of a URL to an engine with its limits. What is wrong with the URL is found before
/// an engine is opened, and told without what may be a password in it.

namespace holdfast::client {

namespace {

struct loop_table {
  io::mutex mutex;
  std::map<std::string, std::weak_ptr<io::loop>> loops HOLDFAST_GUARDED_BY(mutex);
};

constinit io::per_process<loop_table> loops;

// Stores without a life directory live in this process alone, and so do the notes about them; or
// they show nobody whom one could note.
sighting_notes notes_for(const engines::opened_store& what) {
  if (what.life_directory.empty()) return sighting_notes(std::nullopt);
  const auto directory = io::notes_directory();
  if (!directory) return sighting_notes(std::nullopt, what.url);
  io::sighting_file file(*directory, what.url);
  std::string path = file.path();
  return sighting_notes(std::move(file), std::move(path));
}

result<duration> bounded(const core::store_url& url, const std::string& key, duration otherwise,
                         duration most) {
  auto given = url.time(key);
  if (!given) return given.error();
  const auto value = given->value_or(otherwise);
  if (value >= core::ttl_min && value <= most) return value;
  return core::not_within("the URL's " + key, value, core::ttl_min, most);
}

bool is_port(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_host(std::string_view text) noexcept {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
  return !text.empty() && text.find_first_not_of(plain) == std::string_view::npos;
}

/// What to write instead of a server, a path or a fence's URL; nothing for another text, which may
/// be anything, and is not repeated.
std::optional<error> meant_by(std::string_view text) {
  const auto wrong = [](const char* what, const std::string& better) {
    return error(errc::invalid_argument,
                 std::string(what) + ": write " + lock_name(better).printable());
  };
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && is_host(text.substr(0, colon)) &&
      is_port(text.substr(colon + 1))) {
    return wrong("a server alone is no store URL", "redis://" + std::string(text));
  }
  const bool is_file = text.starts_with("file:");
  if (is_file) text.remove_prefix(5);
  if (!text.starts_with('/') || text.find('@') != std::string_view::npos) return std::nullopt;
  if (is_file && text.starts_with("//")) text.remove_prefix(2);
  return wrong(is_file ? "file: is for fences, and no store URL" : "a path alone is no store URL",
               "local:" + std::string(text));
}

std::string reason_of_floor(const engines::opened_store& what) {
  return what.ttl_floor_reason.empty() ? std::string() : ": " + what.ttl_floor_reason;
}

}  // namespace

store_core::store_core(engines::opened_store what, duration ttl, duration limit, bool named)
    : opened_(std::move(what)),
      ttl_(std::max(std::min(ttl, opened_.ttl_limit.value_or(ttl)), opened_.ttl_floor)),
      limit_(std::min(limit, opened_.ttl_limit.value_or(limit))),
      names_ttl_(named),
      generation_(io::process_generation()),
      notes_(notes_for(opened_)) {}

std::shared_ptr<store_core> store_core::on(engines::opened_store what, duration ttl, duration limit,
                                           bool named) {
  return std::make_shared<store_core>(std::move(what), ttl, limit, named);
}

result<store_core::request> store_core::read(std::string_view text) {
  // What follows a scheme that nobody knows may be anything: the scheme is what is wrong.
  const auto scheme = core::store_url::scheme_of(text);
  const auto known = scheme ? check_scheme(*scheme) : result<void>();
  if (!scheme || (!known && known.error() == errc::invalid_argument)) {
    if (const auto meant = meant_by(text)) return *meant;
  }
  if (!known) return known.error();
  auto url = core::store_url::parse(text);
  if (!url) return url.error();
  const auto limit = bounded(*url, "max_ttl", core::ttl_max, core::ttl_max);
  if (!limit) return limit.error();
  const auto ttl = bounded(*url, "ttl", std::min(core::ttl_default, *limit), *limit);
  if (!ttl) return ttl.error();
  if (url->scheme == "local" && url->path.empty()) {
    auto path = io::default_store_directory();
    if (!path) return path.error();
    url->path = std::move(*path);
  }
  const bool named = url->query.contains("ttl");
  return request{std::move(*url), named ? std::optional(*ttl) : std::nullopt, *limit};
}

// What was asked for by name is not changed in silence.
result<void> store_core::check_ttl(std::optional<duration> named,
                                   const engines::opened_store& what) {
  if (!named) return {};
  const std::string begin = "the URL's ttl is " + print_duration(*named) + "; the ";
  if (*named < what.ttl_floor) {
    return error(errc::invalid_argument, begin + "shortest of " + what.url + " is " +
                                             print_duration(what.ttl_floor) +
                                             reason_of_floor(what));
  }
  if (!what.ttl_limit || *named <= *what.ttl_limit) return {};
  return error(errc::invalid_argument, begin + "limit of " + what.url + " is its max_ttl, " +
                                           print_duration(*what.ttl_limit));
}

result<duration> store_core::fitting(duration ttl) const {
  if (ttl >= opened_.ttl_floor && ttl <= limit_) return ttl;
  if (opened_.ttl_floor > limit_) {
    return error(errc::invalid_argument,
                 "no ttl is long enough: the shortest is " + print_duration(opened_.ttl_floor) +
                     reason_of_floor(opened_) + "; and the longest is " + print_duration(limit_) +
                     ", the max_ttl: make that longer");
  }
  return error(errc::invalid_argument,
               "the ttl is " + print_duration(ttl) + "; it must be from " +
                   print_duration(opened_.ttl_floor) + " to " + print_duration(limit_) +
                   (opened_.ttl_limit == limit_ ? ", its max_ttl" : "") + reason_of_floor(opened_));
}

result<std::shared_ptr<store_core>> store_core::open(std::string_view url, missing what) {
  const auto asked = read(url);
  if (!asked) return asked.error();
  auto opened = open_engine(asked->url, what);
  if (!opened) return opened.error();
  if (auto fits = check_ttl(asked->ttl, *opened); !fits) return fits.error();
  const auto ttl = asked->ttl.value_or(std::min(core::ttl_default, asked->limit));
  return on(std::move(*opened), ttl, asked->limit, asked->ttl.has_value());
}

result<presence> store_core::find(std::string_view url) {
  const auto asked = read(url);
  if (!asked) return asked.error();
  return find_store(asked->url);
}

result<store_identity> store_core::identity() const {
  auto text = opened_.identity();
  if (!text) return text.error();
  store_identity id(std::move(*text));
  if (auto good = id.check(); !good) return good.error();
  return id;
}

bool store_core::forked() const noexcept { return io::process_generation() != generation_; }

result<void> store_core::usable() const {
  if (forked()) return forked_error();
  if (over()) return ending_error();
  return {};
}

result<void> store_core::may_wait(std::string_view what) const {
  // An engine without a loop answers on the thread that asks.
  if (!opened_.loop || !io::on_library_thread()) return {};
  return unwaited_error(what, url());
}

result<std::shared_ptr<io::loop>> store_core::loop() {
  // Engines with connections bring theirs, on which heartbeats go out with all other commands. The
  // others share one for each URL.
  if (opened_.loop) return opened_.loop;
  auto& table = loops.get();
  const io::held_mutex hold(table.mutex);
  std::erase_if(table.loops, [](const auto& l) { return l.second.expired(); });
  auto& kept = table.loops[url()];
  if (auto running = kept.lock()) return running;
  auto started = io::loop::start();
  if (started) kept = *started;
  return started;
}

}  // namespace holdfast::client
