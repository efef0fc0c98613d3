#include "tests/redlock/five_nodes.hpp"

#include "tests/process/child.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace holdfast::redlock_tests {

std::string as_user(const std::string& user, std::string url) {
  return url.insert(url.find("//") + 2, user + "@");
}

five_nodes::five_nodes(const std::vector<server::options>& each) : stopped_(each.size()) {
  forget_sights();
  for (const auto& o : each) {
    nodes_.push_back(std::make_unique<server>(o));
    addresses_.push_back(nodes_.back()->address());
  }
}

five_nodes::~five_nodes() { ::unsetenv("XDG_STATE_HOME"); }

std::string five_nodes::url(const std::string& query, std::size_t first) const {
  std::string text = "redlock://";
  for (std::size_t k = 0; k < size(); ++k) {
    text += (k == 0 ? "" : ",") + addresses_[(first + k) % size()];
  }
  text += "?" + query;
  return query.find("node_timeout") == std::string::npos ? text + "&node_timeout=500ms" : text;
}

void five_nodes::init(duration max_ttl) {
  // The URL's ttl has to fit.
  const auto done = redlock::init(max_ttl < 5s ? url("tokens=on") : url(), {.max_ttl = max_ttl});
  if (!done) throw std::runtime_error(done.error().message());
}

session five_nodes::open(const std::string& query, std::size_t first) const {
  auto opened = holdfast::open(url(query, first));
  if (!opened) throw std::runtime_error(opened.error().message());
  return std::move(*opened);
}

void five_nodes::stop(std::size_t i) {
  nodes_[i]->stop();
  stopped_[i] = true;
}

void five_nodes::resume(std::size_t i) {
  nodes_[i]->resume();
  stopped_[i] = false;
}

void five_nodes::kill(std::size_t i) { nodes_[i]->kill(); }

void five_nodes::restart(std::size_t i, server::data d) {
  if (nodes_[i]->running()) nodes_[i]->kill();
  nodes_[i]->start(d);
}

void five_nodes::restart_empty(std::size_t from, std::size_t end) {
  for (std::size_t i = from; i < end; ++i) restart(i, server::data::wipe);
}

void five_nodes::everywhere(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < size(); ++i) {
    if (answers(i)) nodes_[i]->command(command);
  }
}

std::size_t five_nodes::count(const std::string& key) {
  std::size_t there = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (answers(i) && nodes_[i]->command({"EXISTS", key}).integer == 1) ++there;
  }
  return there;
}

std::chrono::milliseconds five_nodes::longest(const std::string& key) {
  std::chrono::milliseconds most{-1};
  for (std::size_t i = 0; i < size(); ++i) {
    if (!answers(i)) continue;
    const auto left = nodes_[i]->command({"PTTL", key}).integer;
    // A key without an end is worse than any.
    most = std::max(most, left == -1 ? 24h : std::chrono::milliseconds(left));
  }
  return most;
}

bool five_nodes::comes_to(const std::string& key, std::size_t n, std::chrono::milliseconds limit) {
  return process::eventually([&] { return count(key) == n; }, limit);
}

redlock::overview five_nodes::look(const std::string& query) const {
  auto seen = redlock::status(url(query));
  if (!seen) throw std::runtime_error(seen.error().message());
  return std::move(*seen);
}

testing::AssertionResult five_nodes::votes_come_to(std::size_t votes, const std::string& query,
                                                   std::chrono::milliseconds limit) const {
  redlock::overview seen;
  const auto come = [&] {
    seen = look(query);
    return seen.votes == votes;
  };
  if (process::eventually(come, limit)) return testing::AssertionSuccess();
  auto failure = testing::AssertionFailure() << seen.votes << " nodes vote";
  for (const auto& n : seen.nodes) {
    failure << "; " << n.address << " (epoch " << n.epoch << ") " << n.standing;
  }
  return failure;
}

void five_nodes::forget_sights() {
  static int users;
  state_ = directory_.path() + "/user-" + std::to_string(++users);
  std::filesystem::create_directory(state_);
  ::setenv("XDG_STATE_HOME", state_.c_str(), 1);
}

}  // namespace holdfast::redlock_tests
