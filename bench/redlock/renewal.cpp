#include "bench/measure.hpp"
#include "bench/redlock/bare_redlock.hpp"
#include "bench/redlock/redlock_store.hpp"
#include "bench/redlock/rows.hpp"
#include "bench/usage.hpp"
#include "core/engine.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/scripts.hpp"
#include "wire/resp_writer.hpp"

#include <holdfast/session.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

/// One session extends all of its 100,000 locks once, beside a loop that sends scripts of 100 keys.
///
/// A server finds both sides' keys and values alike: each side has a database, for of keys in one
/// table the younger ones are found first, and the loop's locks have a value each, for Lua keeps
/// one copy of equal strings.

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;
using goal = figure::goal;
namespace redlock = engines::redlock;

constexpr std::size_t locks_held = 100'000;
constexpr std::size_t keys_a_script = 100;
constexpr std::size_t under_way = 16;  ///< Scripts that the bare loop has at each node at a time.
constexpr duration ttl = 60s;
constexpr duration patience = 50s;

struct pass {
  double per_second{};
  double client_us{};  ///< For one lock.
};

class stop_watch {
 public:
  pass read() const {
    return {.per_second = locks_held / ((now_us() - began_) / 1e6),
            .client_us = (own_cpu_seconds() - cpu_) * 1e6 / locks_held};
  }

 private:
  const double began_{now_us()};
  const double cpu_{own_cpu_seconds()};
};

class bare_renewal {
 public:
  explicit bare_renewal(const std::vector<int>& ports) : nodes_(ports) {
    for (std::size_t i = 0; i < locks_held; ++i) {
      const std::string number = std::to_string(i);
      names_.push_back("bare:" + number);
      values_.push_back(std::string(40 - number.size(), 'b') + number);
    }
    std::string bytes;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      bytes.clear();
      redlock::commands::load(bytes, redlock::scripts::renew_plain);
      nodes_.ask(n, bytes);
      bytes.clear();
      wire::resp_writer(bytes).command("SELECT", 1);
      nodes_.ask(n, bytes);
    }
    run(
        [this](std::string& out, std::size_t first) {
          for (std::size_t k = first; k < first + keys_a_script; ++k) {
            redlock::commands::set_plain(out, names_[k], values_[k], ttl);
          }
        },
        keys_a_script);
  }

  pass once() {
    const stop_watch watch;
    run(
        [this](std::string& out, std::size_t first) {
          std::vector<redlock::held_key> keys;
          for (std::size_t k = first; k < first + keys_a_script; ++k) {
            keys.push_back({names_[k], values_[k]});
          }
          redlock::commands::renew_plain(out, ttl, keys);
        },
        1);
    return watch.read();
  }

 private:
  /// `write` makes the commands of one group, each of which has `answers` of them.
  template <class Write>
  void run(Write write, std::size_t answers) {
    std::size_t next = 0;
    std::size_t waiting = 0;
    std::string bytes;
    while (next < locks_held || waiting > 0) {
      while (next < locks_held && waiting < under_way * answers * nodes_.size()) {
        bytes.clear();
        write(bytes, next);
        next += keys_a_script;
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
          nodes_.queue(n, bytes, 0);
          for (std::size_t k = 1; k < answers; ++k) nodes_.queue(n, {}, 0);
        }
        waiting += answers * nodes_.size();
      }
      nodes_.flush();
      nodes_.turn([&](const bare_nodes::answer&) { --waiting; });
    }
  }

  bare_nodes nodes_;
  std::vector<std::string> names_;
  std::vector<std::string> values_;
};

/// 1,024 at a time.
std::vector<lock> hold_all(session& s) {
  std::mutex mutex;
  std::vector<lock> held;
  std::string refusal;
  std::atomic<std::size_t> waiting{};
  for (std::size_t i = 0; i < locks_held; ++i) {
    while (waiting >= 1'024) std::this_thread::sleep_for(50us);
    ++waiting;
    s.acquire(lock_name("ours:" + std::to_string(i)), {}, [&](result<lock> l) {
      {
        const std::lock_guard hold(mutex);
        if (l) {
          held.push_back(std::move(*l));
        } else {
          refusal = l.error().message();
        }
      }
      --waiting;
    });
  }
  while (waiting > 0) std::this_thread::sleep_for(50us);
  if (held.size() != locks_held) throw std::runtime_error("not all were granted: " + refusal);
  return held;
}

/// One heartbeat of the session extends everything.
pass our_renewal(const redlock_store& store, session& s) {
  static std::uint64_t attempt = 1'000'000;
  const auto before = store.count().commands;
  const auto wanted = before + locks_held / keys_a_script * node_count;
  const stop_watch watch;
  core::beat_request r;
  r.id = s.id();
  r.inc = 1;
  r.attempt = ++attempt;
  store.engine().beat(r, [](const core::beat_reply&) {});
  const time_point limit = clock::now() + patience;
  for (;;) {
    const auto c = store.count();
    if (c.commands >= wanted && c.unanswered == 0) break;
    if (clock::now() > limit) {
      throw std::runtime_error("only " + std::to_string(c.commands - before) +
                               " scripts were sent for 100000 locks");
    }
    std::this_thread::sleep_for(1ms);
  }
  return watch.read();
}

figures compare(redis_servers& servers, bool tokens, const effort& e) {
  const char* of = tokens ? "renew 100000 held locks, tokens" : "renew 100000 held locks";
  const auto held_to = [&](goal g) { return tokens ? goal::shown : g; };
  figures all{{of, "1/s", {}, {}, held_to(goal::ratio_at_least), 0.8},
              {"  client CPU for a lock", "us", {}, {}, held_to(goal::ours_at_most), 2},
              {"  locks that were lost meanwhile", "", {}, {}, goal::ours_at_most, 0}};
  const std::string url = url_of(servers.ports(), tokens ? tokens_on : tokens_off);
  auto s = holdfast::open(url, {.ttl = ttl});
  if (!s) throw std::runtime_error(s.error().message());
  const redlock_store store(url);
  const auto held = hold_all(*s);
  bare_renewal bare(servers.ports());
  for (int i = 0; i < e.rounds; ++i) {
    const pass b = bare.once();
    const pass o = our_renewal(store, *s);
    all[0].bare.push_back(b.per_second);
    all[0].ours.push_back(o.per_second);
    all[1].bare.push_back(b.client_us);
    all[1].ours.push_back(o.client_us);
  }
  double lost = 0;
  for (const lock& l : held) lost += l.check() ? 0 : 1;
  all[2].ours.push_back(lost);
  // All together: one by one the locks' ends would take longer than what is measured.
  if (auto closed = s->close(); !closed) throw std::runtime_error(closed.error().message());
  return all;
}

}  // namespace

/// With tokens the bare loop's script is still the plain one: what tokens cost is in the ratio.
figures measure_renewal(redis_servers& servers, const effort& e) {
  figures all = compare(servers, false, e);
  for (figure& f : compare(servers, true, e)) all.push_back(std::move(f));
  return all;
}

}  // namespace holdfast::bench
