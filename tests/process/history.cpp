#include "tests/process/history.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

namespace holdfast::history {

writer::writer(const std::string& path, std::string caller) : caller_(std::move(caller)) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0) {
    // Linked to its name with the header in it: nobody finds it without, whoever is killed.
    // Two processes that are the first of their namespaces have one number, and one caller's name.
    const std::string draft = path + "." + caller_ + "." + std::to_string(std::random_device{}());
    std::ofstream(draft) << header << std::flush;
    if (::link(draft.c_str(), path.c_str()) != 0 && errno != EEXIST) {
      throw std::runtime_error("link " + path);
    }
    ::unlink(draft.c_str());
    fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  }
  if (fd_ < 0) throw std::runtime_error("open " + path);
}

writer::~writer() { ::close(fd_); }

void writer::write(const line& l) const {
  const std::string text = print(l);
  // One write of one line: O_APPEND keeps lines of different processes apart.
  if (::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("a history line could not be written");
  }
}

std::int64_t writer::pending(operation what, const std::string& lock) const {
  const auto invoked = now();
  write({.what = what,
         .caller = caller_,
         .lock = lock,
         .invoked = invoked,
         .outcome = "pending",
         .value = {}});
  return invoked;
}

void writer::done(operation what, const std::string& lock, std::uint64_t token,
                  std::int64_t invoked, const std::string& outcome) const {
  write({.what = what,
         .caller = caller_,
         .lock = lock,
         .token = {token},
         .invoked = invoked,
         .returned = now(),
         .outcome = outcome,
         .value = {}});
}

std::vector<line> read(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  auto all = parse(text.str());
  if (!all) throw std::runtime_error(path + ": " + all.error().message());
  return *std::move(all);
}

std::vector<std::string> violations(const std::vector<line>& all) {
  std::vector<std::string> bad;
  for (const judgement& j : judge(all)) {
    if (j.found == verdict::linearizable) continue;
    std::string text = j.lock + " (" + name_of(j.as) + "): " + j.why + "\n";
    for (const std::size_t i : j.conflict) text += print(all[i]);
    bad.push_back(text);
  }
  return bad;
}

}  // namespace holdfast::history
