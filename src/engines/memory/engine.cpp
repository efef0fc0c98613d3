#include "engines/memory/engine.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::memory {

/// Keeps one watch in the engine's list for as long as it lives.
class armed final : public core::watch_handle {
 public:
  armed(std::weak_ptr<memory_engine> engine, std::shared_ptr<watcher> w)
      : engine_(std::move(engine)), watcher_(std::move(w)) {}
  ~armed() override {
    if (const auto engine = engine_.lock()) engine->forget(watcher_);
    watcher_->disarm();
  }

 private:
  std::weak_ptr<memory_engine> engine_;
  std::shared_ptr<watcher> watcher_;
};

template <class Reply, class Step>
void memory_engine::run(const core::on<Reply>& done, Step step) {
  io::held_mutex guard(mutex_);
  Reply reply = step(ledger_);
  const watchers hit = hit_by_last_step();
  guard.unlock();
  done(std::move(reply));
  for (const auto& w : hit) w->fire();
}

memory_engine::watchers memory_engine::hit_by_last_step() {
  watchers hit;
  if (std::exchange(looked_at_, ledger_.revision()) == ledger_.revision()) return hit;
  std::copy_if(armed_.begin(), armed_.end(), std::back_inserter(hit), [this](const auto& w) {
    mutex_.held_by_caller();
    return w->hit(ledger_);
  });
  return hit;
}

void memory_engine::forget(const std::shared_ptr<watcher>& w) {
  const io::held_mutex guard(mutex_);
  std::erase(armed_, w);
}

void memory_engine::fire_later(std::shared_ptr<watcher> w) {
  // Without a thread the watch stays silent, which the port allows: the waiter's poll looks again.
  if (!loop_) {
    auto started = io::loop::start();
    if (!started) return;
    loop_ = *std::move(started);
  }
  loop_->post([w = std::move(w)] { w->fire(); });
}

void memory_engine::open(const core::open_request& r, core::on<core::open_reply> done) {
  run(done, [&](core::ledger& l) { return l.open(r); });
}

void memory_engine::beat(const core::beat_request& r, core::on<core::beat_reply> done) {
  run(done, [&](core::ledger& l) { return l.beat(r); });
}

void memory_engine::close(const core::close_request& r, core::on<core::reply> done) {
  run(done, [&](core::ledger& l) { return l.close(r); });
}

void memory_engine::enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) {
  run(done, [&](core::ledger& l) { return l.enqueue(r); });
}

void memory_engine::leave(const core::leave_request& r, core::on<core::leave_reply> done) {
  run(done, [&](core::ledger& l) { return l.leave(r); });
}

void memory_engine::confirm(const core::confirm_request& r, core::on<core::queue_view> done) {
  run(done, [&](core::ledger& l) { return l.confirm(r); });
}

void memory_engine::take(const core::take_request& r, core::on<core::take_reply> done) {
  run(done, [&](core::ledger& l) { return l.take(r); });
}

void memory_engine::deny(const core::deny_request& r, core::on<core::deny_reply> done) {
  run(done, [&](core::ledger& l) { return l.deny(r); });
}

void memory_engine::list(core::on<core::listing> done) {
  run(done, [&](core::ledger& l) { return l.list(); });
}

void memory_engine::glance(const core::glance_request& r, core::on<core::glance_reply> done) {
  run(done, [&](core::ledger& l) { return l.glance(r); });
}

std::unique_ptr<core::watch_handle> memory_engine::watch(const core::watch_request& r,
                                                         std::function<void()> notify) {
  auto w = std::make_shared<watcher>(r, std::move(notify));
  const io::held_mutex guard(mutex_);
  armed_.push_back(w);
  if (w->hit(ledger_)) fire_later(w);
  return std::make_unique<armed>(weak_from_this(), std::move(w));
}

}  // namespace holdfast::engines::memory
