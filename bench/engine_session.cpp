#include "bench/engine_session.hpp"

#include "io/thread/latch.hpp"
#include "io/thread/random.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

template <class R>
R answer(const std::function<void(core::on<R>)>& ask) {
  R got;
  io::latch done;
  ask([&](R r) {
    got = std::move(r);
    done.open();
  });
  done.wait();
  return got;
}

void expect(const core::reply& r, core::status wanted) {
  if (r.what != wanted) throw std::runtime_error("the engine refused: " + r.text);
}

}  // namespace

engine_session::engine_session(core::engine& e) : engine_(e), id_(io::random_session_id()) {
  core::open_request r;
  r.draft.id = id_;
  r.draft.ttl = 60s;
  const auto opened = answer<core::open_reply>([&](auto done) { engine_.open(r, done); });
  expect(opened, core::status::ok);
  inc_ = opened.at.inc;
  gate_ = opened.gate;
}

core::enqueue_request engine_session::next(const std::string& name) {
  core::enqueue_request r;
  r.name = lock_name(name);
  r.id = id_;
  r.inc = inc_;
  r.gate = gate_;
  r.request = ++requests_;
  return r;
}

void engine_session::hold(std::size_t count) {
  std::atomic<std::size_t> waiting{};
  std::atomic<std::size_t> refused{};
  for (; held_ < count; ++held_) {
    while (waiting >= 1'024) std::this_thread::sleep_for(50us);
    ++waiting;
    engine_.enqueue(next(id_.str().substr(0, 8) + std::to_string(held_)),
                    [&](const core::queue_view& v) {
                      if (v.what != core::status::ok) ++refused;
                      --waiting;
                    });
  }
  while (waiting > 0) std::this_thread::sleep_for(50us);
  if (refused > 0) throw std::runtime_error("not all locks were granted");
}

void engine_session::enqueue(const std::string& name) {
  const auto r = next(name);
  seen_ = answer<core::queue_view>([&](auto done) { engine_.enqueue(r, done); });
  if (seen_.what != core::status::ok) expect(seen_, core::status::queued);
  last_ = name;
}

void engine_session::watch(std::function<void()> notify) {
  core::watch_request r;
  r.name = lock_name(last_);
  r.mine = seen_.mine;
  r.targets = seen_.targets;
  r.id = id_;
  r.request = requests_;
  watch_ = engine_.watch(r, std::move(notify));
}

bool engine_session::confirm() {
  core::confirm_request r;
  r.name = lock_name(last_);
  r.id = id_;
  r.inc = inc_;
  r.order = seen_.mine;
  r.request = requests_;
  return answer<core::queue_view>([&](auto done) { engine_.confirm(r, done); }).what ==
         core::status::ok;
}

void engine_session::leave() {
  core::leave_request r;
  r.name = lock_name(last_);
  r.id = id_;
  r.inc = inc_;
  r.request = requests_;
  r.order = seen_.mine;
  expect(answer<core::leave_reply>([&](auto done) { engine_.leave(r, done); }), core::status::ok);
}

void engine_session::beat() {
  expect(answer<core::beat_reply>([&](auto done) {
           engine_.beat({id_, inc_, ++attempt_}, std::move(done));
         }),
         core::status::ok);
}

void engine_session::close() {
  expect(answer<core::reply>([&](auto done) {
           engine_.close({id_, inc_}, std::move(done));
         }),
         core::status::ok);
}

std::size_t count_all(core::engine& e) {
  const auto all = answer<core::listing>([&](auto done) { e.list(done); });
  expect(all, core::status::ok);
  std::size_t count = all.sessions.size();
  for (const auto& l : all.locks) count += l.entries.size();
  return count;
}

}  // namespace holdfast::bench
