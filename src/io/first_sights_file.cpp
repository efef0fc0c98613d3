#include "io/first_sights_file.hpp"

#include "core/fnv1a.hpp"
#include "core/hexadecimal.hpp"
#include "io/files.hpp"
#include "io/process_identity.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <utility>
#include <vector>

namespace holdfast::io {

namespace {

using core::redlock::first_sights;

constexpr std::size_t bytes_max = 64 * 1024;

std::string name_of(const std::string& url) {
  return "first-sights-" + core::hexadecimal(core::fnv1a(url));
}

// Servers choose it: with a space in it, one could write the note of another.
bool is_one_word(const std::string& life) {
  return !life.empty() && std::ranges::all_of(life, [](char c) { return c > ' ' && c <= '~'; });
}

// Somebody else's notes could shorten a wait.
bool is_ours(const place& where, const char* name) {
  const auto file = open_existing(where, name);
  if (!file || !*file) return false;
  const auto facts = facts_of((*file)->get(), where.at(name));
  return facts && facts->owner == ::geteuid() && (facts->mode & 0022U) == 0;
}

}  // namespace

first_sights_file::first_sights_file(std::string directory, std::string url)
    : directory_(std::move(directory)), name_(name_of(url)) {
  std::ostringstream head;
  head << "holdfast-first-sights 1\n"
       << url << '\n'
       << boot_id() << ' ' << time_namespace() << '\n';
  head_ = head.str();
}

first_sights first_sights_file::read() const {
  first_sights notes;
  if (directory_.empty()) return notes;
  const auto directory = open_directory(directory_);
  if (!directory) return notes;
  const place where{directory->get(), directory_};
  if (!is_ours(where, name_.c_str())) return notes;
  const auto text = read_text(where, name_.c_str(), bytes_max);
  if (!text || !*text || !(*text)->starts_with(head_)) return notes;
  std::istringstream lines((*text)->substr(head_.size()));
  std::string life;
  std::int64_t since{};
  const time_point now = clock::now();
  for (std::size_t n = 0; n < notes_max && lines >> life >> since; ++n) {
    const time_point at{duration{since}};
    if (since > 0 && at <= now) notes.recall(life, at);
  }
  return notes;
}

void first_sights_file::keep(const first_sights& notes) {
  std::vector<std::pair<time_point, std::string>> newest;
  for (const auto& [life, since] : notes.all()) {
    if (is_one_word(life)) newest.emplace_back(since, life);
  }
  std::ranges::sort(newest, std::greater<>());
  if (newest.size() > notes_max) newest.resize(notes_max);
  std::ostringstream text;
  text << head_;
  for (const auto& [since, life] : newest) {
    text << life << ' ' << since.time_since_epoch().count() << '\n';
  }
  if (text.str() == written_) return;
  written_ = text.str();
  const auto kept = write(written_);
  trouble_ = kept ? ""
                  : "this user's next process will begin to wait anew, for the first sight cannot "
                    "be kept: " +
                        kept.error().message() + "; set XDG_STATE_HOME to a directory of this user";
}

result<void> first_sights_file::write(const std::string& text) const {
  if (directory_.empty()) return error(errc::unavailable, "there is no home directory");
  if (auto made = make_directories(directory_, 0700); !made) return made.error();
  const auto directory = open_directory(directory_);
  if (!directory) return directory.error();
  return replace_text({directory->get(), directory_}, name_.c_str(), text, 0600);
}

}  // namespace holdfast::io
