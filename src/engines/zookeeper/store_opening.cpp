#include "engines/zookeeper/store_opening.hpp"

#include "core/assert.hpp"
#include "engines/zookeeper/codec.hpp"

#include <algorithm>

namespace holdfast::engines::zookeeper {

using outcome = store_opening::step::outcome;

std::vector<zoo_request> store_opening::look() const {
  return {sync(where_.root()), get(where_.sessions()), get(where_.queues())};
}

store_opening::step store_opening::took(const std::vector<zoo_reply>& replies) {
  HOLDFAST_ASSERT(replies.size() >= 2);
  const auto& sessions = replies[replies.size() - 2];
  const auto& queues = replies.back();
  if (sessions.ok() && sessions.data != store_format) {
    return {.what = outcome::refused,
            .status = core::status::damaged,
            .why = "the node " + where_.sessions() +
                   " is not of holdfast, or of a newer one; name another path in the URL"};
  }
  if (sessions.ok() && queues.ok()) return {.what = outcome::ready};
  if (tries_ > static_cast<std::size_t>(std::ranges::count(where_.root(), '/'))) {
    return {.what = outcome::refused,
            .status = core::status::unavailable,
            .why = "the nodes of the store vanish"};
  }
  return {.what = outcome::asks, .requests = make(tries_++)};
}

// No node that may be there already: a server looks at the rights in its parent first, which a user
// who was given one node does not have.
std::vector<zoo_request> store_opening::make(std::size_t levels) const {
  std::vector<zoo_request> all;
  for (std::string above = where_.root(); all.size() < levels; above.erase(above.rfind('/'))) {
    all.push_back(create(above));
  }
  std::ranges::reverse(all);
  all.push_back(create(where_.sessions(), std::string(store_format)));
  all.push_back(create(where_.queues()));
  all.push_back(get(where_.sessions()));
  all.push_back(get(where_.queues()));
  return all;
}

}  // namespace holdfast::engines::zookeeper
