#include "bench/redlock/bare_redlock.hpp"

#include "engines/redlock/commands.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/scripts.hpp"
#include "io/thread/random.hpp"
#include "wire/resp_writer.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace holdfast::bench {

namespace {

namespace redlock = engines::redlock;
using namespace std::chrono_literals;

constexpr duration session_ttl = 60s;

}  // namespace

bare_texts::bare_texts(bare_nodes& on, bool with_tokens) : tokens(with_tokens) {
  const session_id id = io::random_session_id();
  session = id.str();
  std::string bytes;
  for (std::size_t i = 0; i < on.size(); ++i) {
    bytes.clear();
    redlock::commands::load(bytes, redlock::scripts::release);
    on.ask(i, bytes);
    if (!tokens) continue;
    bytes.clear();
    wire::resp_writer(bytes).command("HGET", redlock::node_key, "nonce");
    nonces.push_back(text_of(on.ask(i, bytes)));
    bytes.clear();
    wire::resp_writer(bytes).command("HGET", redlock::node_key, "epoch");
    epoch = std::strtoull(text_of(on.ask(i, bytes)).c_str(), nullptr, 10);
    bytes.clear();
    const std::array<std::pair<std::string_view, std::string_view>, 1> fields{{{"host", "bare"}}};
    redlock::commands::open(bytes, id, session_ttl, nonces.back(), fields);
    on.ask(i, bytes);
  }
}

std::string bare_texts::value(std::uint64_t number) const {
  char text[41];
  std::snprintf(text, sizeof text, "%040llx", static_cast<unsigned long long>(number));
  return tokens ? std::string(text) + "." + session : std::string(text);
}

void bare_texts::acquire(std::string& out, std::size_t node, std::string_view name,
                         std::string_view value, std::uint64_t hint) const {
  out.clear();
  if (tokens) {
    redlock::commands::acquire(out, name, value, *session_id::parse(session), 30s, hint,
                               nonces[node], epoch);
  } else {
    redlock::commands::set_plain(out, name, value, 30s);
  }
}

void bare_texts::release(std::string& out, std::string_view name, std::string_view value) const {
  out.clear();
  redlock::commands::release(out, name, value);
}

bool bare_caller::acquire(std::string_view name, std::string_view value) {
  ++round_;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    texts_.acquire(bytes_, i, name, value, newest_);
    nodes_.queue(i, bytes_, round_);
  }
  return await_majority();
}

bool bare_caller::release(std::string_view name, std::string_view value) {
  ++round_;
  texts_.release(bytes_, name, value);
  nodes_.queue_all(bytes_, round_);
  return await_majority();
}

bool bare_caller::await_majority() {
  nodes_.flush();
  std::size_t yes = 0;
  std::size_t all = 0;
  while (yes < nodes_.majority() && all < nodes_.size()) {
    nodes_.turn([&](const bare_nodes::answer& a) {
      if (texts_.tokens && a.number > newest_) newest_ = a.number;
      if (a.tag != round_) return;
      ++all;
      if (a.yes) ++yes;
    });
  }
  return yes >= nodes_.majority();
}

}  // namespace holdfast::bench
