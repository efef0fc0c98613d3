#include "tests/process/history.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>

namespace holdfast::history {

namespace {

constexpr const char* header = "holdfast-history 1\n";

std::string escaped(const std::string& text) {
  static constexpr char digits[] = "0123456789abcdef";
  if (text.empty()) return "-";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '%' && !(c == '-' && text.size() == 1)) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

std::string unescaped(const std::string& text) {
  if (text == "-") return {};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return out;
}

template <class Number>
std::string number(Number n) {
  return n == 0 ? "-" : std::to_string(n);
}

line parse(const std::string& text) {
  std::istringstream in(text);
  line l;
  std::string lock, token, invoked, returned, rest;
  if (!(in >> l.operation >> l.caller >> lock >> token >> invoked >> returned >> l.outcome) ||
      in >> rest) {
    throw std::invalid_argument("not seven fields");
  }
  l.lock = unescaped(lock);
  if (token != "-") l.token = std::stoull(token);
  l.invoked = std::stoll(invoked);
  if (returned != "-") l.returned = std::stoll(returned);
  return l;
}

struct grant {
  std::uint64_t token{};
  std::string caller;
  std::int64_t invoked{};
  std::int64_t returned{};
  std::int64_t last_proof{};  ///< When the last operation began that showed it was held.
};

std::string describe(const std::string& lock, const grant& g) {
  return lock + ": token " + std::to_string(g.token) + " of " + g.caller;
}

void compare(const std::string& lock, const std::vector<grant>& by_token,
             std::vector<std::string>& bad) {
  std::int64_t latest_start = 0;
  for (std::size_t i = 0; i < by_token.size(); ++i) {
    const auto& g = by_token[i];
    if (i > 0 && by_token[i - 1].token == g.token) {
      bad.push_back(describe(lock, g) + " was also given to " + by_token[i - 1].caller);
    }
    if (g.returned < latest_start) {
      bad.push_back(describe(lock, g) + " is larger than one asked for after it was granted");
    }
    latest_start = std::max(latest_start, g.invoked);
  }
  std::int64_t earliest_grant = INT64_MAX;
  for (auto g = by_token.rbegin(); g != by_token.rend(); ++g) {
    if (g->last_proof > earliest_grant) {
      bad.push_back(describe(lock, *g) + " acted after a newer one had been granted");
    }
    earliest_grant = std::min(earliest_grant, g->returned);
  }
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
  const std::string text = l.operation + ' ' + l.caller + ' ' + escaped(l.lock) + ' ' +
                           number(l.token) + ' ' + std::to_string(l.invoked) + ' ' +
                           number(l.returned) + ' ' + l.outcome + '\n';
  // One write of one line: O_APPEND keeps lines of different processes apart.
  if (::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("a history line could not be written");
  }
}

std::int64_t writer::pending(const std::string& operation, const std::string& lock) const {
  const auto invoked = now();
  write({operation, caller_, lock, 0, invoked, 0, "pending"});
  return invoked;
}

void writer::done(const std::string& operation, const std::string& lock, std::uint64_t token,
                  std::int64_t invoked, const std::string& outcome) const {
  write({operation, caller_, lock, token, invoked, now(), outcome});
}

std::vector<line> read(const std::string& path) {
  std::ifstream in(path);
  std::string text;
  if (!std::getline(in, text) || text + '\n' != header) {
    throw std::runtime_error(path + " does not begin with '" + header + "'");
  }
  std::vector<line> all;
  for (int at = 2; std::getline(in, text); ++at) {
    if (text.empty() || text[0] == '#') continue;
    try {
      all.push_back(parse(text));
    } catch (const std::logic_error& e) {
      throw std::runtime_error(path + ":" + std::to_string(at) + ": " + e.what() + ": " + text);
    }
  }
  return all;
}

std::vector<std::string> violations(const std::vector<line>& all) {
  std::map<std::string, std::vector<grant>> by_lock;
  for (const auto& l : all) {
    if (l.operation == "acquire" && l.outcome == "ok") {
      by_lock[l.lock].push_back({l.token, l.caller, l.invoked, l.returned, l.invoked});
    }
  }
  std::vector<std::string> bad;
  for (auto& [lock, grants] : by_lock) {
    std::stable_sort(grants.begin(), grants.end(),
                     [](const grant& a, const grant& b) { return a.token < b.token; });
    for (const auto& l : all) {
      if (l.lock != lock || l.outcome != "ok" ||
          (l.operation != "check" && l.operation != "write")) {
        continue;
      }
      for (auto& g : grants) {
        if (g.token == l.token) g.last_proof = std::max(g.last_proof, l.invoked);
      }
    }
    compare(lock, grants, bad);
  }
  return bad;
}

}  // namespace holdfast::history
