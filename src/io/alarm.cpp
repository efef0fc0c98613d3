#include "io/alarm.hpp"

#include "io/background.hpp"
#include "io/per_process.hpp"

#include <condition_variable>
#include <utility>

namespace holdfast::io {

namespace {

struct holder {
  std::mutex mutex;
  std::shared_ptr<alarm> one;
};

constinit per_process<holder> alarms;

constexpr std::size_t batch = 1'000;

}  // namespace

result<std::shared_ptr<alarm>> alarm::of_process() {
  auto& held = alarms.get();
  const std::lock_guard hold(held.mutex);
  if (held.one) return held.one;
  auto timer = boot_timer::make();
  if (!timer) return timer.error();
  const std::shared_ptr<alarm> made(new alarm(std::move(*timer)));
  auto thread = start_thread("holdfast-alarm", [raw = made.get()] { raw->loop(); });
  if (!thread) return thread.error();
  made->thread_ = std::move(*thread);
  held.one = made;
  stop_at_exit(made);
  return made;
}

alarm::~alarm() { stop(); }

std::uint64_t alarm::watch(std::weak_ptr<guarded> what, time_point deadline) {
  const std::lock_guard hold(mutex_);
  const bool first = order_.empty() || deadline < order_.begin()->first;
  const auto id = ++last_id_;
  insert(id, {std::move(what), deadline});
  if (first) wake_at(deadline);
  return id;
}

void alarm::unwatch(std::uint64_t id) noexcept {
  const std::lock_guard hold(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  order_.erase({found->second.when, id});
  entries_.erase(found);
}

void alarm::moved(std::uint64_t id) noexcept {
  std::shared_ptr<guarded> what;  // Let go when the mutex is free, as in `looked`.
  const std::lock_guard hold(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  auto& [weak, when] = found->second;
  what = weak.lock();
  const auto earlier = what ? what->deadline() : when;
  if (earlier >= when) return;
  auto node = order_.extract({when, id});
  when = earlier;
  node.value().first = when;
  order_.insert(std::move(node));
  if (order_.begin()->second == id) wake_at(when);
}

bool alarm::post(job j) {
  const std::lock_guard hold(mutex_);
  if (stopping_) return false;
  jobs_.push_back(std::move(j));
  if (jobs_.size() == 1) timer_.arm(time_point{});
  return true;
}

void alarm::run(job j, duration limit) {
  if (std::this_thread::get_id() == thread_.get_id()) return j();
  struct rendezvous {
    std::mutex mutex;
    std::condition_variable done;
    bool finished{};
  };
  const auto meet = std::make_shared<rendezvous>();
  const auto shared = std::make_shared<job>(std::move(j));
  const bool posted = post([meet, shared] {
    (*shared)();
    *shared = nullptr;  // What it holds is let go by the caller, who may wait for threads.
    const std::lock_guard hold(meet->mutex);
    meet->finished = true;
    meet->done.notify_one();
  });
  if (!posted) return (*shared)();
  std::unique_lock hold(meet->mutex);
  meet->done.wait_for(hold, limit, [&] { return meet->finished; });
}

void alarm::stop() noexcept {
  {
    const std::lock_guard hold(mutex_);
    stopping_ = true;
    timer_.arm(time_point{});
  }
  if (!thread_.joinable()) return;
  if (std::this_thread::get_id() == thread_.get_id()) {
    thread_.detach();  // A callback ends the program: this very thread is running exit().
  } else {
    thread_.join();
  }
}

// A timer that is set again forgets that it has rung for a job or for the end.
void alarm::wake_at(time_point when) noexcept {
  if (jobs_.empty() && !stopping_) timer_.arm(when);
}

time_point alarm::next_look() const noexcept {
  if (stopping_) return time_point{};  // The jobs of this round were the last.
  return order_.empty() ? time_point::max() : order_.begin()->first;
}

void alarm::insert(std::uint64_t id, entry e) {
  order_.insert({e.when, id});
  entries_.insert_or_assign(id, std::move(e));
}

alarm::looked alarm::take_due(time_point now) {
  looked l;
  for (std::size_t n = 0; n < batch; ++n) {
    if (order_.empty() || order_.begin()->first > now) break;
    const auto id = order_.begin()->second;
    order_.erase(order_.begin());
    auto node = entries_.extract(id);
    auto what = node.mapped().what.lock();
    if (!what) continue;
    const auto moved = what->deadline();
    if (moved > now && moved != time_point::max()) {
      insert(id, {std::move(node.mapped().what), moved});
    }
    (moved > now ? l.kept : l.due).push_back(std::move(what));
  }
  return l;
}

void alarm::loop() noexcept {
  for (;;) {
    std::vector<job> jobs;
    looked now;
    {
      const std::lock_guard hold(mutex_);
      if (stopping_ && jobs_.empty()) return;
      jobs.swap(jobs_);
      now = take_due(clock::now());
      timer_.arm(next_look());
    }
    for (const auto& one : now.due) one->passed();
    for (auto& j : jobs) j();
    now = {};
    jobs.clear();
    timer_.wait();
  }
}

}  // namespace holdfast::io
