#pragma once

#include "tests/redis_server/contest.hpp"
#include "tests/redlock/five_nodes.hpp"

#include <string>

namespace holdfast::redlock_tests {

/// Clients of one Redlock store, each with connections of its own.
class contest : public redis_tests::contest {
 public:
  struct options {
    std::string query{"ttl=5s"};
    std::string name{"contended"};
    std::size_t clients{3};
    bool tokens{true};
  };
  contest(const five_nodes& nodes, const options& o)
      : redis_tests::contest(urls(nodes, o), o.name, o.tokens) {}

 private:
  // The label makes no other URL; the turned list does.
  static std::vector<std::string> urls(const five_nodes& nodes, const options& o) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < o.clients; ++i) all.push_back(nodes.url(o.query, i % nodes.size()));
    return all;
  }
};

}  // namespace holdfast::redlock_tests
