#include "engines/redlock/gathering.hpp"

#include "core/assert.hpp"

#include <utility>

namespace holdfast::engines::redlock {

void gathering::ask(std::shared_ptr<cluster> c, question q) {
  const node_set to = q.to;
  const time_point deadline = clock::now() + q.limit;
  if (to.empty()) return q.done();
  const auto bytes = q.bytes;
  const auto self = std::make_shared<gathering>(std::move(q));
  core::redlock::for_each(to, [&](node_index i) {
    c->ask(i, bytes(i), deadline, [self, i](const io::redis_answer& a) { self->answered(i, a); });
  });
}

void gathering::answered(node_index i, const io::redis_answer& a) {
  std::function<void()> done;
  {
    const io::held_mutex hold(mutex_);
    HOLDFAST_ASSERT(pending_.has(i));
    pending_.remove(i);
    if (over_) return;
    over_ = question_.each(i, a) || pending_.empty();
    if (over_) done = std::move(question_.done);
  }
  if (done) done();
}

}  // namespace holdfast::engines::redlock
