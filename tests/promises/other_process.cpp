#include "tests/promises/other_process.hpp"

#include <holdfast/session.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace holdfast::promises {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view how_to = "--hold-a-lock";
constexpr int answer_within_ms = 60'000;

int answer_for(const session& s, const lock& l) {
  std::cout << "held " << s.id().str() << ' ' << l.token().value << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << (l.check() ? "held" : "lost") << std::endl;
  }
  return 0;
}

}  // namespace

other_process::other_process(const std::string& url, duration ttl, const std::string& name) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe2");
  }
  to_ = in[1];
  from_ = out[0];
  process_ = process::child::start(
      {.arguments = {"/proc/self/exe", std::string(how_to), url, std::to_string(ttl / 1ms), name},
       .streams = {in[0], out[1], -1},
       .ends_with_us = true});
  ::close(in[0]);
  ::close(out[1]);
  const std::string said = answer();
  std::istringstream words(said);
  std::string what;
  std::string id;
  words >> what >> id >> token_.value;
  const auto parsed = session_id::parse(id);
  if (what != "held" || !parsed) throw std::runtime_error("the other process: " + said);
  id_ = *parsed;
}

other_process::~other_process() {
  process_.end();
  ::close(to_);
  ::close(from_);
}

bool other_process::holds() {
  if (::write(to_, "\n", 1) != 1) throw std::runtime_error("the other process has ended");
  const std::string said = answer();
  if (said != "held" && said != "lost") throw std::runtime_error("the other process: " + said);
  return said == "held";
}

std::string other_process::answer() {
  std::string line;
  for (char c = 0;;) {
    pollfd ready{from_, POLLIN, 0};
    if (::poll(&ready, 1, answer_within_ms) != 1) return line + " (no answer)";
    if (::read(from_, &c, 1) != 1) return line + " (it has ended)";
    if (c == '\n') return line;
    line += c;
  }
}

bool is_other_process(int argc, char** argv) { return argc == 5 && argv[1] == how_to; }

int run_other_process(char** argv) {
  std::string why;
  // A machine that is too slow for this ttl may do with a longer one.
  for (duration ttl = std::stol(argv[3]) * 1ms; ttl <= 1h; ttl *= 2) {
    auto s = holdfast::open(argv[2], {.ttl = ttl, .program = "another"});
    const auto l = s ? s->try_acquire(lock_name(argv[4])) : result<lock>(s.error());
    if (l) return answer_for(*s, *l);
    why = l.error().message();
  }
  std::cout << why << std::endl;
  return 1;
}

}  // namespace holdfast::promises
