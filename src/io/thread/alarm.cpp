#include "io/thread/alarm.hpp"

#include "io/process/per_process.hpp"
#include "io/thread/background.hpp"
#include "io/thread/condition.hpp"

#include <utility>

namespace holdfast::io {

namespace {

struct holder {
  io::mutex mutex;
  std::shared_ptr<alarm> one HOLDFAST_GUARDED_BY(mutex);
};

constinit per_process<holder> alarms;

constexpr std::size_t batch = 1'000;

}  // namespace

result<std::shared_ptr<alarm>> alarm::of_process() {
  auto& held = alarms.get();
  const held_mutex hold(held.mutex);
  if (held.one) return held.one;
  auto timer = boot_timer::make();
  if (!timer) return timer.error();
  const std::shared_ptr<alarm> made(new alarm(std::move(*timer)));
  auto thread = start_thread("holdfast-alarm", [raw = made.get()] { raw->loop(); });
  if (!thread) return thread.error();
  made->thread_ = std::move(*thread);
  // Kept for as long as the process lives: a session that is opened later finds it running.
  held.one = made;
  stop_at_exit(made);
  return made;
}

alarm::~alarm() { stop(); }

std::uint64_t alarm::watch(std::weak_ptr<deadline_holder> what, time_point deadline) {
  const held_mutex hold(mutex_);
  const bool first = order_.empty() || deadline < order_.begin()->first;
  const auto id = ++last_id_;
  order_.insert({deadline, id});
  entries_.emplace(id, entry{std::move(what), deadline});
  if (first) wake_at(deadline);
  return id;
}

void alarm::unwatch(std::uint64_t id) noexcept {
  const held_mutex hold(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  order_.erase({found->second.when, id});
  entries_.erase(found);
}

void alarm::moved(std::uint64_t id) noexcept {
  std::shared_ptr<deadline_holder> what;  // Let go when the mutex is free, as in `looked`.
  const held_mutex hold(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  auto& [weak, when] = found->second;
  what = weak.lock();
  const auto earlier = what ? what->deadline() : when;
  if (earlier >= when) return;
  auto node = order_.extract({when, id});
  if (node.empty()) return;  // It is being told that it has passed.
  when = earlier;
  node.value().first = when;
  order_.insert(std::move(node));
  if (order_.begin()->second == id) wake_at(when);
}

bool alarm::post(job j) {
  const held_mutex hold(mutex_);
  if (stopping_) return false;
  jobs_.push_back(std::move(j));
  // Behind a first one the timer rings already, and wake_at() leaves it so.
  if (jobs_.size() == 1) timer_.arm(time_point{});
  return true;
}

void alarm::run(job j, duration limit) {
  if (std::this_thread::get_id() == thread_.get_id()) return j();
  struct rendezvous {
    io::mutex mutex;
    condition done;
    bool finished HOLDFAST_GUARDED_BY(mutex){};
  };
  const auto meet = std::make_shared<rendezvous>();
  const auto shared = std::make_shared<job>(std::move(j));
  const bool posted = post([meet, shared] {
    (*shared)();
    *shared = nullptr;  // What it holds is let go by the caller, who may wait for threads.
    const held_mutex hold(meet->mutex);
    meet->finished = true;
    meet->done.notify_one();
  });
  if (!posted) return (*shared)();
  // What the job uses is shared: the thread may get to it after this has given up.
  const auto until = std::chrono::steady_clock::now() + limit;
  const held_mutex hold(meet->mutex);
  while (!meet->finished && meet->done.wait_until(meet->mutex, until)) {
  }
}

void alarm::stop() noexcept {
  {
    const held_mutex hold(mutex_);
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

alarm::looked alarm::take_due(time_point now) {
  looked l;
  for (std::size_t n = 0; n < batch; ++n) {
    if (order_.empty() || order_.begin()->first > now) break;
    const auto id = order_.begin()->second;
    // One that is due is in entries_ alone until tell() has looked at it again, and moved(), which
    // finds no place of it here, leaves it to that.
    order_.erase(order_.begin());
    const auto found = entries_.find(id);
    auto what = found->second.what.lock();
    const auto moved = what ? what->deadline() : time_point::max();
    if (moved == time_point::max()) {
      entries_.erase(found);
    } else {
      // A deadline that grew says so to nobody: it is found here, when the old one has come.
      found->second.when = moved;
      if (moved > now) order_.insert({moved, id});
    }
    if (!what) continue;
    if (moved > now) {
      l.kept.push_back(std::move(what));
    } else {
      l.due.push_back({id, std::move(what)});
    }
  }
  return l;
}

// What is extended in the moment in which its deadline passes has a later one behind the call, or
// one that was shortened again: of that nobody has heard, be it the old one.
void alarm::tell(looked& those) noexcept {
  if (those.due.empty()) return;
  for (auto& one : those.due) one.over = one.what->passed();
  const held_mutex hold(mutex_);
  for (const auto& [id, one, over] : those.due) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    const auto later = one->deadline();
    if ((over && later <= found->second.when) || later == time_point::max()) {
      entries_.erase(found);
      continue;
    }
    found->second.when = later;
    order_.insert({later, id});
    if (order_.begin()->second == id) wake_at(later);
  }
}

void alarm::loop() noexcept {
  for (;;) {
    std::vector<job> jobs;
    looked now;
    {
      const held_mutex hold(mutex_);
      if (stopping_ && jobs_.empty()) return;
      jobs.swap(jobs_);
      now = take_due(clock::now());
      // Before anything is called: what is posted meanwhile sets it anew.
      timer_.arm(next_look());
    }
    // Losses first: a job may take its time.
    tell(now);
    for (auto& j : jobs) j();
    now = {};
    // With their memory, which `= {}` keeps: a leak checker in a forked child does not see this
    // stack.
    jobs = std::vector<job>();
    timer_.wait();
  }
}

}  // namespace holdfast::io
