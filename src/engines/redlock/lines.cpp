#include "engines/redlock/lines.hpp"

#include "engines/redlock/commands.hpp"
#include "engines/redlock/replies.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using namespace std::chrono_literals;
using core::redlock::for_each;

constexpr duration subscribe_limit = 2s;
constexpr std::size_t posts_per_name = 2;
constexpr int streak_max = 4;

}  // namespace

bool lines::join(const std::string& name, const std::shared_ptr<lined_up>& who) {
  bool first = false;
  {
    const std::lock_guard hold(mutex_);
    line& l = lines_[name];
    first = l.waiters.empty();
    l.waiters.push_back(who);
  }
  return first;
}

void lines::leave(const std::string& name, const lined_up& who, bool granted) {
  std::shared_ptr<lined_up> next;
  node_set silent;
  {
    const std::lock_guard hold(mutex_);
    const auto found = lines_.find(name);
    if (found == lines_.end()) return;
    auto& waiters = found->second.waiters;
    const auto at = std::ranges::find_if(waiters, [&](const auto& w) { return w.get() == &who; });
    if (at == waiters.end()) return;
    const bool was_first = at == waiters.begin();
    waiters.erase(at);
    if (waiters.empty()) {
      silent = found->second.subscribed;
      lines_.erase(found);
    } else if (was_first) {
      next = waiters.front();
    }
  }
  unsubscribe(name, silent);
  if (next) next->turn(granted ? lined_up::cue::held : lined_up::cue::first);
}

void lines::freed(const std::string& name) { tell_first(name, true); }

void lines::tell_first(std::string_view name, bool own) {
  std::shared_ptr<lined_up> first;
  auto what = lined_up::cue::heard;
  {
    const std::lock_guard hold(mutex_);
    const auto found = lines_.find(name);
    if (found == lines_.end()) return;
    line& l = found->second;
    // Other processes wait, too, and hear of it later than we do.
    if (own && ++l.streak <= streak_max) what = lined_up::cue::freed;
    if (what == lined_up::cue::heard) l.streak = 0;
    first = l.waiters.front();
  }
  first->turn(what);
}

void lines::heard(std::string_view name) { tell_first(name, false); }

node_set lines::posts(const std::string& name) const {
  const node_set up = cluster_->now_voting()->voters;
  node_set chosen;
  const std::size_t n = cluster_->size();
  const std::size_t from = std::hash<std::string>{}(name) % n;
  for (std::size_t k = 0; k < n && chosen.size() < posts_per_name; ++k) {
    const auto i = static_cast<node_index>((from + k) % n);
    if (up.has(i) && cluster_->may_subscribe(i)) chosen.add(i);
  }
  return chosen;
}

void lines::listen_for(const std::string& name) {
  node_set more;
  {
    const std::lock_guard hold(mutex_);
    const auto found = lines_.find(name);
    if (found == lines_.end() || found->second.subscribed.size() >= posts_per_name) return;
    more = posts(name) - found->second.subscribed;
    found->second.subscribed = found->second.subscribed | more;
  }
  subscribe(name, more);
}

void lines::subscribe(const std::string& name, node_set where) {
  for_each(where, [&](node_index i) {
    std::string bytes;
    commands::subscribe(bytes, name);
    cluster_->ask(
        i, bytes, clock::now() + subscribe_limit,
        [self = weak_from_this(), name, i](const io::redis_answer& a) {
          const auto l = self.lock();
          if (!l) return;
          // What was released before the node listened was not heard.
          if (a.reply != nullptr && replies::subscribe(*a.reply) == fault::none) {
            return l->tell_first(name, false);
          }
          l->deaf(name, i);
        },
        true);
  });
}

void lines::deaf(const std::string& name, node_index i) {
  const std::lock_guard hold(mutex_);
  const auto found = lines_.find(name);
  if (found != lines_.end()) found->second.subscribed.remove(i);
}

void lines::unsubscribe(const std::string& name, node_set where) {
  for_each(where, [&](node_index i) {
    std::string bytes;
    commands::unsubscribe(bytes, name);
    cluster_->ask(
        i, bytes, clock::now() + subscribe_limit, [](const io::redis_answer&) {}, true);
  });
}

/// A new connection has no subscriptions.
void lines::connected(node_index i) {
  const std::lock_guard hold(mutex_);
  for (auto& [name, l] : lines_) l.subscribed.remove(i);
}

}  // namespace holdfast::engines::redlock
