#include "engines/memory/open.hpp"

#include "engines/memory/engine.hpp"
#include "io/process/per_process.hpp"
#include "io/thread/mutex.hpp"

#include <map>
#include <utility>

namespace holdfast::engines::memory {

namespace {

/// The stores of this process by name; a name is forgotten when its last user is gone.
class registry {
 public:
  std::shared_ptr<memory_engine> get(const std::string& name) {
    const io::held_mutex guard(mutex_);
    std::erase_if(stores_, [](const auto& s) { return s.second.expired(); });
    if (auto found = stores_[name].lock()) return found;
    auto fresh = std::make_shared<memory_engine>();
    stores_[name] = fresh;
    return fresh;
  }

 private:
  io::mutex mutex_;
  std::map<std::string, std::weak_ptr<memory_engine>> stores_ HOLDFAST_GUARDED_BY(mutex_);
};

constinit io::per_process<registry> stores;

result<std::vector<finding>> diagnose() {
  return std::vector<finding>{
      {severity::warning, "engine",
       "memory: lives in this process only; no other process sees its locks, and nothing survives "
       "the end of the process. Use local: for real work."}};
}

}  // namespace

result<opened_store> open_memory(const core::store_url& url, missing) {
  if (auto known = url.only({"ttl", "max_ttl"}); !known) return known.error();
  const auto engine = stores.get().get(url.path);
  return opened_store{.engine = engine,
                      .url = "memory:" + url.path,
                      .identity = [text = "memory/" + engine->identity().str()] { return text; },
                      .life_directory = {},
                      .group_writable = false,
                      .promise = "the locks of one process, for tests. They end with it",
                      .diagnose = diagnose};
}

result<presence> find_memory(const core::store_url& url) {
  if (auto known = url.only({"ttl", "max_ttl"}); !known) return known.error();
  return presence{.url = "memory:" + url.path, .there = true, .obstacle = {}};
}

}  // namespace holdfast::engines::memory
