#include "engines/local/watches.hpp"

#include "engines/local/environment.hpp"
#include "engines/local/tables.hpp"
#include "io/process/fork_mark.hpp"

#include <system_error>
#include <utility>

namespace holdfast::engines::local {

class watches::handle : public core::watch_handle {
 public:
  handle(std::shared_ptr<watches> owner, std::uint64_t id)
      : owner_(std::move(owner)), id_(id), generation_(io::process_generation()) {}
  ~handle() override {
    if (generation_ == io::process_generation()) owner_->disarm(id_);
  }

 private:
  std::shared_ptr<watches> owner_;
  std::uint64_t id_;
  std::uint64_t generation_;
};

watches::watches(io::wake_word& word) : word_(word) {}

std::unique_ptr<core::watch_handle> watches::arm(const std::shared_ptr<environment>& store,
                                                 const core::watch_request& what,
                                                 std::function<void()> notify) {
  std::uint64_t id = 0;
  {
    const io::held_mutex lock(mutex_);
    id = ++last_id_;
    if (!waiter_) waiter_ = started(store);
    // Without a thread nobody calls it: who waits looks by itself, and its next watch tries again.
    if (!waiter_) return std::make_unique<core::watch_handle>();
    armed_.emplace(id, armed{what, std::move(notify)});
    // One that is about to block looks and sleeps by itself.
    if (!what.blocks) waiter_->resume();
  }
  io::ring(word_);
  return std::make_unique<handle>(shared_from_this(), id);
}

std::shared_ptr<io::word_waiter> watches::started(const std::shared_ptr<environment>& store) {
  try {
    // Weak: an armed watch does not keep a store open.
    return std::make_shared<io::word_waiter>(
        word_, [self = shared_from_this(), weak = std::weak_ptr(store)] {
          if (const auto open = weak.lock()) self->look(*open);
        });
  } catch (const std::system_error&) {
    return {};
  }
}

void watches::look(environment& store) {
  std::vector<std::pair<std::uint64_t, core::watch_request>> all;
  {
    const io::held_mutex lock(mutex_);
    for (const auto& [id, one] : armed_) {
      if (!one.fired) all.emplace_back(id, one.what);
    }
  }
  if (all.empty()) return;
  std::vector<std::uint64_t> due;
  // Outside the mutex: the store's gate may take two seconds.
  const failure failed = store.read([&](transaction& txn) {
    for (const auto& [id, what] : all) {
      if (any_gone(txn, what.name, what.targets)) due.push_back(id);
    }
  });
  // A store that cannot be read is a reason to look: the watcher's own look will say why.
  if (failed) {
    due.clear();
    for (const auto& one : all) due.push_back(one.first);
  }
  for (const std::uint64_t id : due) call(id);
}

void watches::call(std::uint64_t id) {
  std::function<void()> notify;
  {
    const io::held_mutex lock(mutex_);
    const auto at = armed_.find(id);
    // Two threads look while one takes the other's place.
    if (at == armed_.end() || std::exchange(at->second.fired, true)) return;
    notify = at->second.notify;
    running_.emplace(id, std::this_thread::get_id());
  }
  notify();
  notify = nullptr;  // What it captured may end a session: not under the mutex.
  const io::held_mutex lock(mutex_);
  running_.erase(id);
  idle_.notify_all();
}

void watches::disarm(std::uint64_t id) noexcept {
  // Destroyed when the mutex is free: what it captured may end a session.
  std::function<void()> ended;
  const io::held_mutex lock(mutex_);
  const auto at = armed_.find(id);
  if (at != armed_.end()) {
    ended = std::move(at->second.notify);
    armed_.erase(at);
  }
  for (;;) {
    const auto runs = running_.find(id);
    if (runs == running_.end() || runs->second == std::this_thread::get_id()) return;
    idle_.wait(mutex_);
  }
}

bool watches::lend(const std::shared_ptr<environment>& store, core::parking& until) {
  // The word is in the store's memory, and the waiter rings it when it ends.
  const auto keep = store;
  std::shared_ptr<io::word_waiter> waiter;
  {
    const io::held_mutex lock(mutex_);
    waiter = waiter_;
  }
  return waiter && waiter->lend(until, [this] {
    const io::held_mutex lock(mutex_);
    return !armed_.empty();
  });
}

void watches::stop() noexcept {
  std::shared_ptr<io::word_waiter> waiter;
  {
    const io::held_mutex lock(mutex_);
    waiter = std::move(waiter_);
  }
}

}  // namespace holdfast::engines::local
