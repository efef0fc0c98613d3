#include "engines/zookeeper/watches.hpp"

#include "core/assert.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

// The library sets all watches again by one request after a reconnect, and a server ends the
// connection at a request longer than jute.maxbuffer, 1 MB unless it is configured to be less.
constexpr std::size_t bytes_set_again_max = std::size_t{256} * 1024;

}  // namespace

void watches::arm(std::uint64_t number, std::vector<std::string> nodes,
                  std::shared_ptr<io::notice> n) {
  std::vector<std::string> fresh;
  for (const auto& path : nodes) {
    const auto [at, added] = nodes_.try_emplace(path);
    at->second.push_back(number);
    if (!added) continue;
    bytes_ += path.size();
    fresh.push_back(path);
  }
  const bool is_new = armed_.emplace(number, armed{std::move(nodes), std::move(n)}).second;
  HOLDFAST_ASSERT(is_new);
  for (const auto& path : fresh) set(path);
}

void watches::set(const std::string& path) {
  auto request = get(path);
  request.watched = true;
  std::vector<zoo_request> all;
  all.push_back(std::move(request));
  // Read last: a session ends with all its nodes at once.
  auto session = paths::session_of_gate(path);
  if (!session.empty()) all.push_back(get(std::move(session)));
  servers_->send(
      std::move(all), repeat::always, [weak = weak_from_this(), path](const batch_result& l) {
        const auto self = weak.lock();
        if (!self || (l.what == core::status::ok && l.replies[0].ok())) return;
        const bool lives = l.what == core::status::ok && l.replies.size() > 1 && l.replies[1].ok();
        // Who waits for it has the entries' watches, and looks now and then.
        if (lives) return static_cast<void>(self->take(path));
        // Without a server the caller looks by itself.
        self->fire(path);
      });
}

void watches::forget(std::uint64_t number) {
  const auto found = armed_.find(number);
  if (found == armed_.end()) return;
  for (const auto& path : found->second.nodes) {
    const auto at = nodes_.find(path);
    if (at != nodes_.end()) std::erase(at->second, number);
  }
  armed_.erase(found);
}

watches::waiting watches::take(const std::string& path) {
  const auto at = nodes_.find(path);
  if (at == nodes_.end()) return {};
  auto numbers = std::move(at->second);
  HOLDFAST_ASSERT(bytes_ >= at->first.size());
  bytes_ -= at->first.size();
  nodes_.erase(at);
  return numbers;
}

void watches::fire(const std::string& path) {
  for (const auto number : take(path)) {
    const auto found = armed_.find(number);
    if (found == armed_.end()) continue;
    const auto n = found->second.notice;
    n->fire();
  }
}

bool watches::gives_watches_up() { return bytes_ > bytes_set_again_max; }

void watches::watches_lost() {
  nodes_.clear();
  bytes_ = 0;
  // Told when all is forgotten: whoever hears of it may arm again.
  std::vector<std::shared_ptr<io::notice>> all;
  for (const auto& [number, a] : armed_) all.push_back(a.notice);
  for (const auto& n : all) n->fire();
}

}  // namespace holdfast::engines::zookeeper
