#include "engines/redlock/other_list.hpp"

#include "core/fnv1a.hpp"
#include "core/hexadecimal.hpp"

#include <utility>

namespace holdfast::engines::redlock {

namespace {

using node_list = std::vector<io::node_address>;

std::string lacking_one_or_two(const std::string& hash, const node_list& nodes, unsigned database) {
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    // With itself: one alone.
    for (std::size_t b = a; b < nodes.size(); ++b) {
      node_list fewer;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (i != a && i != b) fewer.push_back(nodes[i]);
      }
      if (fewer.empty() || hash_of_list(fewer, database) != hash) continue;
      return "which lacks " + nodes[a].text() + (a == b ? "" : " and " + nodes[b].text());
    }
  }
  return {};
}

std::string with_host(const std::string& hash, node_list nodes, unsigned database,
                      const char* there, const char* here) {
  for (auto& node : nodes) {
    if (node.host == here) node.host = there;
  }
  if (hash_of_list(nodes, database) != hash) return {};
  return std::string("which says ") + there + " where this one says " + here;
}

}  // namespace

std::string hash_of_list(const node_list& nodes, unsigned database) {
  const std::string text = io::text_of(nodes) + ",/" + std::to_string(database) + ",";
  return core::hexadecimal(core::fnv1a(text), 16);
}

std::string difference_of_list(const std::string& hash, const node_list& nodes, unsigned database) {
  for (const auto& [there, here] :
       {std::pair("localhost", "127.0.0.1"), std::pair("127.0.0.1", "localhost")}) {
    if (auto text = with_host(hash, nodes, database, there, here); !text.empty()) return text;
  }
  return lacking_one_or_two(hash, nodes, database);
}

}  // namespace holdfast::engines::redlock
