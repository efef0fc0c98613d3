#include "tests/redlock_scripts/node.hpp"

#include "engines/redlock/keys.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis_tests {

namespace {

const std::string node_key{redlock::node_key};

std::vector<std::string> evalsha(const redlock::script& s, const std::vector<std::string>& keys,
                                 const std::vector<std::string>& arguments) {
  std::vector<std::string> parts{"EVALSHA", std::string(s.sha1), std::to_string(keys.size())};
  parts.insert(parts.end(), keys.begin(), keys.end());
  parts.insert(parts.end(), arguments.begin(), arguments.end());
  return parts;
}

/// Without the server's TIME, its second element, which must be one.
answer timeless(answer a) {
  if (a.is != answer::kind::array || a.elements.size() < 2) return a;
  EXPECT_GT(a.elements[1].integer, 1'700'000'000'000'000) << a;
  if (a.elements.size() == 2) return a.elements[0];
  EXPECT_EQ(a.elements[0], integer(0)) << a;
  return array({a.elements[2]});
}

}  // namespace

std::string value(int number) {
  const std::string digits = std::to_string(number);
  return std::string(40 - digits.size(), '0') + digits;
}

answer node::run(const redlock::script& s, const std::vector<std::string>& keys,
                 const std::vector<std::string>& arguments) {
  const std::vector<std::string> parts = evalsha(s, keys, arguments);
  const answer a = of.command(parts);
  if (a.error_word() != "NOSCRIPT") return a;
  EXPECT_EQ(of.command({"SCRIPT", "LOAD", std::string(s.text)}), text(std::string(s.sha1)));
  return of.command(parts);
}

answer node::run(connection& by, const redlock::script& s, const std::vector<std::string>& keys,
                 const std::vector<std::string>& arguments) {
  of.command({"SCRIPT", "LOAD", std::string(s.text)});
  return by.command(evalsha(s, keys, arguments));
}

answer node::write(const record& r) {
  return run(scripts::write, {node_key},
             {r.seen_nonce, r.seen_epoch, r.id, r.nonce, r.epoch, r.run_id, r.floor, r.max_ttl,
              r.config_hash, r.durable, r.kept_epoch});
}

void node::init(const record& r) {
  ASSERT_EQ(write(r), integer(1));
  acquire_arguments a;
  a.nonce = r.nonce;
  ASSERT_EQ(open(a.session, a), integer(1));
}

answer node::acquire(const std::string& lock, const std::string& value,
                     const acquire_arguments& a) {
  return timeless(run(scripts::acquire,
                      {lock, redlock::token_key(lock), node_key, redlock::session_key(a.session)},
                      {value, a.ttl, a.hint, a.nonce, a.epoch}));
}

answer node::raise(const std::string& lock, const std::string& value, std::uint64_t token,
                   const std::string& nonce, const std::string& epoch) {
  return run(scripts::raise, {lock, redlock::token_key(lock), node_key},
             {value, std::to_string(token), nonce, epoch});
}

answer node::repair(const std::string& lock, const std::string& value, std::uint64_t token,
                    const acquire_arguments& a) {
  return timeless(run(scripts::repair,
                      {lock, redlock::token_key(lock), node_key, redlock::session_key(a.session)},
                      {value, a.ttl, std::to_string(token), a.nonce}));
}

answer node::release(const std::string& lock, const std::string& value) {
  return run(scripts::release, {lock}, {value});
}

answer node::renew(const std::vector<std::pair<std::string, std::string>>& locks,
                   const acquire_arguments& a) {
  std::vector<std::string> keys{node_key, redlock::session_key(a.session)};
  std::vector<std::string> arguments{a.nonce, a.ttl};
  for (const auto& [lock, value] : locks) {
    keys.push_back(lock);
    arguments.push_back(value);
  }
  return timeless(run(scripts::renew, keys, arguments));
}

answer node::open(const std::string& session, const acquire_arguments& a) {
  return run(scripts::open, {node_key, redlock::session_key(session)},
             {a.nonce, a.ttl, "host", "somewhere", "pid", "42"});
}

answer node::close(const std::string& session) {
  return run(scripts::close, {redlock::session_key(session)}, {});
}

answer node::deny(const std::string& session, const std::string& nonce) {
  return run(scripts::deny, {node_key, redlock::session_key(session)},
             {nonce, "an operator", "it hangs"});
}

answer node::look() { return run(scripts::look, {node_key}, {}); }

answer node::seal(const std::string& epoch, const std::string& nonce) {
  return run(scripts::seal, {node_key}, {nonce, epoch});
}

std::string node::field(const std::string& name) { return command({"HGET", node_key, name}).text; }

void node::set_field(const std::string& name, const std::string& to) {
  ASSERT_EQ(command({"HSET", node_key, name, to}).is, answer::kind::integer);
}

}  // namespace holdfast::redis_tests
