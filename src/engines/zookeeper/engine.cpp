#include "engines/zookeeper/engine.hpp"

#include "engines/zookeeper/enqueuing.hpp"
#include "engines/zookeeper/leaving.hpp"
#include "engines/zookeeper/listing.hpp"
#include "engines/zookeeper/sessions.hpp"

#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

class armed final : public core::watch_handle {
 public:
  armed(std::shared_ptr<store> s, std::uint64_t number, std::shared_ptr<io::notice> n)
      : store_(std::move(s)), number_(number), notice_(std::move(n)) {}
  ~armed() override {
    notice_->disarm();
    store_->servers().shared_loop()->post(
        [w = store_->shared_watches(), n = number_] { w->forget(n); });
  }

 private:
  const std::shared_ptr<store> store_;
  const std::uint64_t number_;
  const std::shared_ptr<io::notice> notice_;
};

}  // namespace

template <class Task>
void zookeeper_engine::on_loop(Task task) const {
  const auto& loop = servers()->shared_loop();
  if (loop->on_thread()) return task();
  loop->post(std::move(task));
}

void zookeeper_engine::open(const core::open_request& r, core::on<core::open_reply> done) {
  on_loop([s = store_, draft = r.draft, done = std::move(done)] { open_session(s, draft, done); });
}

void zookeeper_engine::beat(const core::beat_request& r, core::on<core::beat_reply> done) {
  on_loop([s = store_, r, done = std::move(done)] { beat_session(s, r, done); });
}

void zookeeper_engine::close(const core::close_request& r, core::on<core::reply> done) {
  on_loop([s = store_, r, done = std::move(done)] { close_session(s, r, done); });
}

void zookeeper_engine::enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) {
  on_loop([s = store_, r, done = std::move(done)]() mutable {
    std::make_shared<enqueuing>(s, std::move(r), std::move(done))->start();
  });
}

void zookeeper_engine::leave(const core::leave_request& r, core::on<core::leave_reply> done) {
  on_loop([s = store_, r, done = std::move(done)]() mutable {
    std::make_shared<leaving>(s, std::move(r), std::move(done))->start();
  });
}

void zookeeper_engine::confirm(const core::confirm_request& r, core::on<core::queue_view> done) {
  on_loop([s = store_, r, done = std::move(done)]() mutable {
    std::make_shared<confirming>(s, std::move(r), std::move(done))->start();
  });
}

void zookeeper_engine::take(const core::take_request& r, core::on<core::take_reply> done) {
  on_loop([s = store_, r, done = std::move(done)] { take_session(s, r, done); });
}

void zookeeper_engine::deny(const core::deny_request& r, core::on<core::deny_reply> done) {
  on_loop([s = store_, r, done = std::move(done)] { deny_session(s, r, done); });
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
  return std::make_unique<armed>(store_, number, std::move(n));
}

void zookeeper_engine::list(core::on<core::listing> done) {
  on_loop([s = store_, done = std::move(done)]() mutable {
    std::make_shared<listing>(s, std::move(done))->start();
  });
}

}  // namespace holdfast::engines::zookeeper
