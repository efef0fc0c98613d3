#include "engines/redlock/gathering.hpp"

#include <utility>

namespace holdfast::engines::redlock {

void gathering::ask(std::shared_ptr<cluster> c, question q) {
  const node_set to = q.to;
  const time_point deadline = clock::now() + q.limit;
  if (to.empty()) return q.done();
  const auto bytes = q.bytes;
  const auto self = std::make_shared<gathering>(std::move(q));
  core::redlock::for_each(to, [&](node_index i) {
    const auto sent = c->send(i, bytes(i), deadline, self, i);
    if (sent) return;
    io::redis_answer none;
    none.what = io::redis_answer::outcome::not_sent;
    none.why = &sent.error();
    none.at = clock::now();
    self->answered(i, none);
  });
}

void gathering::answered(std::uint64_t tag, const io::redis_answer& a) {
  const auto i = static_cast<node_index>(tag);
  std::function<void()> done;
  {
    const std::lock_guard hold(mutex_);
    pending_.remove(i);
    if (over_) return;
    over_ = question_.each(i, a) || pending_.empty();
    if (over_) done = std::move(question_.done);
  }
  if (done) done();
}

}  // namespace holdfast::engines::redlock
