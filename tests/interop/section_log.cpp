#include "tests/interop/section_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace holdfast::interop_tests {

namespace {

bool is_of(const std::string& client, const section& s) { return s.who.starts_with(client + "-"); }

section parse(const std::string& line) {
  std::istringstream in(line);
  section s;
  std::string more;
  const bool complete = static_cast<bool>(in >> s.who >> s.begin >> s.end);
  if (!complete || in >> more || s.begin >= s.end) {
    throw std::runtime_error("not a section: \"" + line + "\"");
  }
  return s;
}

}  // namespace

std::int64_t monotonic_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

section_log::section_log()
    : path_(directory_.path() + "/sections"),
      fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (fd_ < 0) throw std::runtime_error("cannot create " + path_);
}

section_log::~section_log() { ::close(fd_); }

void section_log::add(const section& s) {
  const std::string line =
      s.who + " " + std::to_string(s.begin) + " " + std::to_string(s.end) + "\n";
  // One write: lines of several writers do not mix.
  if (::write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::runtime_error("cannot write to " + path_);
  }
}

std::vector<section> section_log::read() const {
  std::ifstream file(path_);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<section> all;
  std::size_t from = 0;
  // The last line may be under way.
  for (std::size_t to = 0; (to = text.find('\n', from)) != std::string::npos; from = to + 1) {
    all.push_back(parse(text.substr(from, to - from)));
  }
  std::sort(all.begin(), all.end(),
            [](const section& a, const section& b) { return a.begin < b.begin; });
  return all;
}

std::vector<std::string> overlaps(const std::vector<section>& by_begin) {
  std::vector<std::string> found;
  const section* latest = nullptr;
  for (const section& s : by_begin) {
    if (latest != nullptr && s.begin < latest->end) {
      found.push_back(s.who + " held " + std::to_string(latest->end - s.begin) +
                      " ns before the end of " + latest->who);
    }
    if (latest == nullptr || latest->end < s.end) latest = &s;
  }
  return found;
}

std::size_t count_of(const std::string& client, const std::vector<section>& all) {
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const section& s) { return is_of(client, s); }));
}

std::size_t handovers(const std::string& client, const std::vector<section>& by_begin) {
  std::size_t changes = 0;
  for (std::size_t i = 1; i < by_begin.size(); ++i) {
    if (is_of(client, by_begin[i - 1]) != is_of(client, by_begin[i])) ++changes;
  }
  return changes;
}

}  // namespace holdfast::interop_tests
