#pragma once

#include "io/process/per_process.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/error.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::io {

/// The engines of this process by the URL of their store and the password: whoever opens the same
/// store gets the same engine, and nobody one that logs in by another password. One is
/// forgotten when its last user is gone. Declare it `constinit` at namespace scope.
///
/// Thread safety: get() from any thread.
template <class Engine>
class running_stores {
 public:
  /// Whether each engine has a loop of its own, or all of them one.
  enum class loops { own, shared };

  constexpr explicit running_stores(loops how = loops::own) : how_(how) {}

  /// The engine of that URL, which has no password, or what `make(loop)` makes. Errors: those of
  /// starting a loop.
  template <class Make>
  result<std::shared_ptr<Engine>> get(const std::string& url, const std::string& password,
                                      Make make) {
    registry& r = registry_.get();
    const held_mutex hold(r.mutex);
    std::erase_if(r.stores, [](const auto& e) { return e.second.expired(); });
    auto& kept = r.stores[{url, password}];
    if (auto running = kept.lock()) return running;
    auto on = how_ == loops::shared ? r.shared.lock() : nullptr;
    if (!on) {
      auto started = loop::start();
      if (!started) return started.error();
      on = std::move(*started);
      if (how_ == loops::shared) r.shared = on;
    }
    std::shared_ptr<Engine> fresh = make(std::move(on));
    kept = fresh;
    return fresh;
  }

 private:
  struct registry {
    io::mutex mutex;
    std::map<std::pair<std::string, std::string>, std::weak_ptr<Engine>> stores
        HOLDFAST_GUARDED_BY(mutex);
    std::weak_ptr<loop> shared HOLDFAST_GUARDED_BY(mutex);
  };

  const loops how_;
  per_process<registry> registry_;
};

}  // namespace holdfast::io
