#include "tests/process/history.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

namespace holdfast::history {

namespace {

/// SIGKILL between two pages of a write leaves the beginning of a line, and the next writer's line
/// behind it. What its caller had begun is pending in an earlier line, or was not begun.
std::string without_cut_lines(const std::string& text) {
  const auto is_good = [](const std::string& one) {
    return bool(parse(std::string(header) + one + "\n"));
  };
  std::istringstream in(text);
  std::string out;
  for (std::string one; std::getline(in, one);) {
    std::size_t from = 0;
    while (!out.empty() && from < one.size() && !is_good(one.substr(from))) ++from;
    // Where no end of it is a line, what is wrong is to be told.
    out += (from < one.size() ? one.substr(from) : one) + "\n";
  }
  return out;
}

}  // namespace

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
  std::string whole = text.str();
  whole.resize(whole.rfind('\n') + 1);
  auto all = parse(whole);
  if (!all) all = parse(without_cut_lines(whole));
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
