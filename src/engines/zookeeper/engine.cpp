#include "engines/zookeeper/engine.hpp"

#include "engines/zookeeper/enqueuing.hpp"
#include "engines/zookeeper/leaving.hpp"
#include "engines/zookeeper/listing.hpp"
#include "engines/zookeeper/sessions.hpp"
#include "io/thread/armed_notice.hpp"

#include <utility>

/// The port. Each operation goes to the loop's thread first, where everything of the engine is.

namespace holdfast::engines::zookeeper {

void zookeeper_engine::open(const core::open_request& r, core::on<core::open_reply> done) {
  loop().run(
      [s = store_, draft = r.draft, done = std::move(done)] { open_session(s, draft, done); });
}

void zookeeper_engine::beat(const core::beat_request& r, core::on<core::beat_reply> done) {
  loop().run([s = store_, r, done = std::move(done)] { beat_session(s, r, done); });
}

void zookeeper_engine::close(const core::close_request& r, core::on<core::reply> done) {
  loop().run([s = store_, r, done = std::move(done)] { close_session(s, r, done); });
}

void zookeeper_engine::forget(const session_id& id, const core::reply&) {
  loop().run([s = store_, id] {
    (void)s->forget_all(id);
    s->forget_session(id);
  });
}

void zookeeper_engine::enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) {
  loop().run([s = store_, r, done = std::move(done)]() mutable {
    std::make_shared<enqueuing>(s, std::move(r), std::move(done))->start();
  });
}

void zookeeper_engine::leave(const core::leave_request& r, core::on<core::leave_reply> done) {
  loop().run([s = store_, r, done = std::move(done)]() mutable {
    std::make_shared<leaving>(s, std::move(r), std::move(done))->start();
  });
}

void zookeeper_engine::confirm(const core::confirm_request& r, core::on<core::queue_view> done) {
  loop().run([s = store_, r, done = std::move(done)]() mutable {
    std::make_shared<confirming>(s, std::move(r), std::move(done))->start();
  });
}

void zookeeper_engine::take(const core::take_request& r, core::on<core::take_reply> done) {
  loop().run([s = store_, r, done = std::move(done)] { take_session(s, r, done); });
}

void zookeeper_engine::deny(const core::deny_request& r, core::on<core::deny_reply> done) {
  loop().run([s = store_, r, done = std::move(done)] { deny_session(s, r, done); });
}

std::unique_ptr<core::watch_handle> zookeeper_engine::watch(const core::watch_request& r,
                                                            std::function<void()> notify) {
  const auto number = ++last_watch_;
  auto n = std::make_shared<io::notice>(std::move(notify));
  // Never at once: the notice must not fire inside this call.
  servers()->shared_loop()->post([s = store_, mine = r.mine, number, n] {
    auto nodes = s->targets_of(mine);
    if (nodes.empty()) return n->fire();
    s->shared_watches()->arm(number, std::move(nodes), n);
  });
  return std::make_unique<io::armed_notice>(
      std::move(n), servers()->shared_loop(),
      [w = store_->shared_watches(), number] { w->forget(number); });
}

void zookeeper_engine::glance(const core::glance_request& r, core::on<core::glance_reply> done) {
  loop().run([s = store_, r, done = std::move(done)] { glance_at_sessions(s, r, done); });
}

void zookeeper_engine::list(core::on<core::listing> done) {
  loop().run([s = store_, done = std::move(done)]() mutable {
    std::make_shared<listing>(s, std::move(done))->start();
  });
}

}  // namespace holdfast::engines::zookeeper
