#include "tests/redlock_scripts/differential.hpp"

#include "engines/redlock/keys.hpp"
#include "sim/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <thread>

namespace holdfast::redis_tests {

namespace {

using kind = operation::kind;
using sim::redlock::fault;
using sim::redlock::milliseconds;
using sim::redlock::server_time;

constexpr int short_ttl = 5;  // ms
constexpr std::uint32_t locks = 4;
const std::string node_key{redlock::node_key};

std::string lock_name(std::uint32_t i) { return "lock-" + std::to_string(i); }
std::string session_id(std::uint32_t i) { return "5e55" + std::to_string(i); }
std::string number(std::uint64_t n) { return std::to_string(n); }
std::string value_of(const operation& o) { return value(static_cast<int>(o.value)); }

core::redlock::node_record record_of(const operation& o) {
  core::redlock::node_record r;
  r.id = "id";
  r.nonce = o.new_nonce;
  r.epoch = o.new_epoch;
  r.run_id = "run";
  r.floor = o.token;
  r.max_ttl = std::chrono::minutes{1};
  r.config_hash = "cafe";
  return r;
}

/// What a client would believe of the node, so that most operations are not refused at once.
struct belief {
  bool there{};
  std::string nonce{};
  std::uint64_t epoch{};
};

operation any(sim::random& dice, const belief& b) {
  operation o;
  o.what = static_cast<kind>(dice.index(operation::kinds));
  const bool destroys = o.what == kind::flush || o.what == kind::set_clock_back;
  if (destroys && !dice.chance(100'000)) o.what = kind::acquire;
  if (!b.there) o.what = kind::write;
  o.lock = static_cast<std::uint32_t>(dice.below(locks));
  o.session = static_cast<std::uint32_t>(dice.below(3));
  o.value = 1 + dice.below(6);
  o.token = dice.chance(20'000) ? token_max + dice.below(2) : dice.below(60);
  o.hint = dice.chance(50'000) ? token_max : dice.chance(200'000) ? dice.below(100) : 0;
  o.epoch = dice.chance(900'000) ? b.epoch : dice.below(b.epoch + 2);
  o.nonce = dice.chance(900'000) ? b.nonce : "life-" + number(dice.below(3));
  o.new_epoch = dice.chance(50'000) ? 0 : b.epoch + dice.below(3);
  o.new_nonce = dice.chance(700'000) ? b.nonce : "life-" + number(dice.below(3));
  const std::array<int, 4> odd{0, 60'000, 60'001, 100'000};
  o.ttl = dice.chance(900'000) ? 30'000 : odd[dice.below(odd.size())];
  // PEXPIRE with zero would delete: no ttl of a session is that short.
  if (o.what == kind::renew_plain) o.ttl = 30'000;
  return o;
}

void believe(belief& b, const operation& o) {
  const bool compared = !b.there || (o.nonce == b.nonce && o.epoch == b.epoch);
  if (o.what == kind::flush) b.there = false;
  if (o.what == kind::seal && o.nonce == b.nonce) b.epoch = std::max(b.epoch, o.new_epoch);
  if (o.what == kind::write && compared) b = {true, o.new_nonce, o.new_epoch};
}

/// All locks with values near the operation's, the last one with none that was given.
std::vector<sim::redlock::node::held> batch(const operation& o) {
  std::vector<sim::redlock::node::held> all;
  for (std::uint32_t i = 0; i < locks; ++i) all.emplace_back(i, 1 + (o.value + i) % 6);
  return all;
}

std::string words(const answer& a, kind what) {
  if (a.is == answer::kind::error) {
    const std::string_view word = a.error_word();
    if (word == refusal::denied) return std::string(word);
    if (word != refusal::epoch && word != refusal::ttl) return std::string(word);
    return a.text.substr(0, a.text.find(' ', word.size() + 1));
  }
  if (a.is == answer::kind::integer) return std::to_string(a.integer);
  if (a.is == answer::kind::text || a.is == answer::kind::status) return a.text;
  if (a.is == answer::kind::null) return "taken";
  if (a.is != answer::kind::array || a.elements.empty()) return "an answer of no known form";
  const auto& e = a.elements;
  if (what == kind::deny) return std::to_string(e[0].integer) + " " + std::to_string(e[1].integer);
  if (what == kind::renew) return e[0].text;
  if (what == kind::look) {
    if (e.size() == 1) return "no record";
    return e[2].text + " " + e[3].text + " " + e[5].text;
  }
  if (e.size() == 2) return std::to_string(e[0].integer);
  return e[2].integer == -1 ? "taken for ever" : "taken";
}

std::string words(const sim::redlock::node::answer& a, kind what,
                  const std::optional<core::redlock::node_record>& record) {
  const auto word = [](std::string_view w) { return std::string(w); };
  switch (a.refused) {
    case fault::none:
      break;
    case fault::not_admitted:
      return word(refusal::not_admitted);
    case fault::epoch_moved:
      return word(refusal::epoch) + " " + number(a.number);
    case fault::ttl_too_long:
      return word(refusal::ttl) + " " + number(a.number);
    case fault::session_missing:
      return word(refusal::no_session);
    case fault::denied:
      return word(refusal::denied);
    case fault::clock_went_back:
      return word(refusal::clock_went_back);
    case fault::counter_full:
      return word(refusal::counter);
    default:
      return "a refusal of no script";
  }
  if (what == kind::deny) return number(a.number) + " " + std::to_string(a.left.count());
  if (what == kind::renew || what == kind::renew_plain) {
    std::string text;
    for (std::uint32_t i = 0; i < locks; ++i) text += a.ours.test(i) ? '1' : '0';
    return text;
  }
  if (what == kind::look) {
    if (!record) return "no record";
    return record->nonce + " " + number(record->epoch) + " " + number(record->floor);
  }
  const bool puts = what == kind::acquire || what == kind::repair || what == kind::acquire_plain;
  if (!puts || a.number > 0) return what == kind::acquire_plain ? "OK" : number(a.number);
  if (what == kind::acquire_plain) return "taken";
  return a.left.count() == -1 ? "taken for ever" : "taken";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const operation& o) {
  static constexpr std::array<const char*, operation::kinds> names{
      "acquire",        "raise",  "repair",        "release",        "renew",
      "renew_plain",    "open",   "close",         "deny",           "look",
      "seal",           "write",  "acquire_plain", "expire_lock",    "expire_session",
      "forget_counter", "remove", "put_foreign",   "set_clock_back", "flush"};
  return out << names[static_cast<std::size_t>(o.what)] << " lock " << o.lock << " session "
             << o.session << " value " << o.value << " token " << o.token << " hint " << o.hint
             << " nonce " << o.nonce << " epoch " << o.epoch << " ttl " << o.ttl << " new "
             << o.new_nonce << ' ' << o.new_epoch;
}

std::vector<operation> sequence(std::uint64_t seed, std::size_t length) {
  sim::random dice(seed);
  belief b{false, "life-1", 1};
  std::vector<operation> all;
  while (all.size() < length) {
    operation o = any(dice, b);
    believe(b, o);
    all.push_back(std::move(o));
  }
  return all;
}

void twins::follow_time() {
  const answer a = real_.command({"TIME"});
  simulated_.set_time(server_time{std::stoll(a.elements.at(0).text) * 1'000'000 +
                                  std::stoll(a.elements.at(1).text)});
}

twins::difference twins::run(const std::vector<operation>& all) {
  real_.command({"FLUSHALL"});
  simulated_ = {};
  for (std::size_t i = 0; i < all.size(); ++i) {
    follow_time();
    const std::string simulated = of_simulated(all[i]);
    const std::string real = of_real(all[i]);
    if (real != simulated) return {static_cast<int>(i), real, simulated};
    const bool ends = all[i].what == kind::expire_lock || all[i].what == kind::expire_session;
    if (ends) std::this_thread::sleep_for(milliseconds{2 * short_ttl});
  }
  return {};
}

std::string twins::of_real(const operation& o) {
  const std::string lock = lock_name(o.lock);
  const std::string session = redlock::session_key(session_id(o.session));
  const std::string ttl = std::to_string(o.ttl);
  const std::string cache = redlock::token_key(lock);
  const std::string epoch = number(o.epoch);
  const auto run = [&](const redlock::script& s, const std::vector<std::string>& keys,
                       const std::vector<std::string>& arguments) {
    return words(real_.run(s, keys, arguments), o.what);
  };
  switch (o.what) {
    case kind::acquire:
      return run(scripts::acquire, {lock, cache, node_key, session},
                 {value_of(o), ttl, number(o.hint), o.nonce, epoch});
    case kind::raise:
      return run(scripts::raise, {lock, cache, node_key},
                 {value_of(o), number(o.token), o.nonce, epoch});
    case kind::repair:
      return run(scripts::repair, {lock, cache, node_key, session},
                 {value_of(o), ttl, number(o.token), o.nonce});
    case kind::release:
      return run(scripts::release, {lock}, {value_of(o)});
    case kind::open:
      return run(scripts::open, {node_key, session}, {o.nonce, ttl, "host", "somewhere"});
    case kind::close:
      return run(scripts::close, {session}, {});
    case kind::deny:
      return run(scripts::deny, {node_key, session}, {o.nonce, "an operator", "it hangs"});
    case kind::look:
      return run(scripts::look, {node_key}, {});
    case kind::seal:
      return run(scripts::seal, {node_key}, {o.nonce, number(o.new_epoch)});
    default:
      return change_real(o);
  }
}

std::string twins::change_real(const operation& o) {
  const std::string lock = lock_name(o.lock);
  const std::string session = redlock::session_key(session_id(o.session));
  std::vector<std::string> keys{node_key, session};
  std::vector<std::string> arguments{o.nonce, std::to_string(o.ttl)};
  if (o.what == kind::renew_plain) keys.clear();
  if (o.what == kind::renew_plain) arguments.erase(arguments.begin());
  for (const auto& [i, number_of] : batch(o)) {
    keys.push_back(lock_name(i));
    arguments.push_back(value(static_cast<int>(number_of)));
  }
  const auto r = record_of(o);
  const std::string seen = real_.command({"EXISTS", node_key}).integer == 1 ? o.nonce : "";
  switch (o.what) {
    case kind::renew:
      return words(real_.run(scripts::renew, keys, arguments), o.what);
    case kind::renew_plain:
      return words(real_.run(scripts::renew_plain, keys, arguments), o.what);
    case kind::write:
      return words(real_.run(scripts::write, {node_key},
                             {seen, number(o.epoch), r.id, r.nonce, number(r.epoch), r.run_id,
                              number(r.floor), "60000", r.config_hash, "0", "0"}),
                   o.what);
    case kind::acquire_plain:
      return words(real_.command({"SET", lock, value_of(o), "NX", "PX", "30000"}), o.what);
    case kind::expire_lock:
      real_.command({"SET", lock, value_of(o), "PX", std::to_string(short_ttl)});
      return {};
    case kind::expire_session:
      real_.command({"HSET", session, "denied", "0", "ttl", std::to_string(short_ttl)});
      real_.command({"PEXPIRE", session, std::to_string(short_ttl)});
      return {};
    case kind::forget_counter:
      real_.command({"DEL", redlock::token_key(lock)});
      return {};
    case kind::remove:
      real_.command({"DEL", lock});
      return {};
    case kind::put_foreign:
      real_.command({"SET", lock, "somebody else's"});
      return {};
    case kind::set_clock_back:
      if (!seen.empty()) real_.set_field("last_time", "4000000000000000");
      return {};
    default:
      real_.command({"FLUSHALL"});
      return {};
  }
}

std::string twins::of_simulated(const operation& o) {
  sim::redlock::node::acquisition a{o.lock, o.session,         o.value, milliseconds{o.ttl},
                                    o.hint, {o.nonce, o.epoch}};
  const auto said = [&](const sim::redlock::node::answer& got) {
    return words(got, o.what, simulated_.record());
  };
  switch (o.what) {
    case kind::acquire:
      return said(simulated_.acquire(a));
    case kind::raise:
      return said(simulated_.raise(o.lock, o.value, o.token, a.with));
    case kind::repair:
      return said(simulated_.repair(a, o.token));
    case kind::release:
      return said(simulated_.release(o.lock, o.value));
    case kind::renew:
      return said(simulated_.renew(o.session, batch(o), a.ttl, o.nonce));
    case kind::open:
      return said(simulated_.open(o.session, a.ttl, o.nonce));
    case kind::close:
      return said(simulated_.close(o.session));
    case kind::deny:
      return said(simulated_.deny(o.session, o.nonce));
    case kind::look:
      return said(simulated_.look());
    case kind::seal:
      return said(simulated_.seal(o.nonce, o.new_epoch));
    case kind::write:
      return said(simulated_.write(
          {0, simulated_.record() ? o.nonce : std::string(), o.epoch, record_of(o)}));
    case kind::acquire_plain:
      return said(simulated_.acquire_plain(o.lock, o.value, milliseconds{30'000}));
    default:
      return change_simulated(o);
  }
}

std::string twins::change_simulated(const operation& o) {
  auto stored = simulated_.stored();
  switch (o.what) {
    case kind::renew_plain:
      return words(simulated_.renew_plain(batch(o), milliseconds{o.ttl}), o.what, {});
    case kind::expire_lock:
      simulated_.remove(o.lock);
      simulated_.acquire_plain(o.lock, o.value, milliseconds{short_ttl});
      break;
    case kind::expire_session:
      if (o.session < stored.sessions.size()) stored.sessions[o.session] = {};
      simulated_.restore(std::move(stored));
      break;
    case kind::forget_counter:
      simulated_.forget_counter(o.lock);
      break;
    case kind::remove:
      simulated_.remove(o.lock);
      break;
    case kind::put_foreign:
      if (o.lock >= stored.locks.size()) stored.locks.resize(o.lock + 1);
      stored.locks[o.lock] = {UINT64_MAX, sim::redlock::node::data::no_end};
      simulated_.restore(std::move(stored));
      break;
    case kind::set_clock_back:
      if (stored.record) stored.record->last_time = server_time{4'000'000'000'000'000};
      simulated_.restore(std::move(stored));
      break;
    default:
      simulated_.flush();
  }
  return {};
}

}  // namespace holdfast::redis_tests
