#include "client/patrolling.hpp"

#include "io/process/per_process.hpp"
#include "io/thread/mutex.hpp"
#include "io/thread/random.hpp"

#include <map>
#include <utility>

namespace holdfast::client {

namespace {

struct patrol_table {
  io::mutex mutex;
  std::map<const core::engine*, std::weak_ptr<patrolling>> patrols HOLDFAST_GUARDED_BY(mutex);
};

constinit io::per_process<patrol_table> patrols;

}  // namespace

std::shared_ptr<patrolling> patrolling::on(const std::shared_ptr<core::engine>& engine,
                                           const std::shared_ptr<io::loop>& loop) {
  if (!engine->keeps_dead()) return nullptr;
  auto& table = patrols.get();
  const io::held_mutex hold(table.mutex);
  std::erase_if(table.patrols, [](const auto& p) { return p.second.expired(); });
  auto& kept = table.patrols[engine.get()];
  // It keeps its engine, so no other one can be at the same address.
  if (auto there = kept.lock()) return there;
  auto made = std::make_shared<patrolling>(engine, loop);
  kept = made;
  return made;
}

patrolling::patrolling(std::shared_ptr<core::engine> engine, std::shared_ptr<io::loop> loop)
    : engine_(std::move(engine)), loop_(std::move(loop)) {}

void patrolling::go(caller c) {
  core::glance_request r;
  {
    const io::held_mutex hold(mutex_);
    const auto now = clock::now();
    if (!patrol_.may_begin(now)) return;
    // From a random place, so that every record has its chance.
    r = patrol_.begin(io::random_session_id(), now);
  }
  // The sessions keep the patrol: with the last of them a round ends where it is.
  engine_->glance(r, [weak = weak_from_this(), c = std::move(c)](const core::glance_reply& reply) {
    if (const auto self = weak.lock()) self->seen(reply, c);
  });
}

void patrolling::seen(const core::glance_reply& r, const caller& c) {
  std::vector<core::take_request> takes;
  {
    const io::held_mutex hold(mutex_);
    takes = patrol_.seen(r, clock::now());
  }
  for (const auto& t : takes) {
    engine_->take(t, [weak = weak_from_this(), id = t.id, c](const core::take_reply& reply) {
      if (const auto self = weak.lock()) self->taken(id, reply, c);
    });
  }
  if (takes.empty()) go_on(c);
}

void patrolling::taken(const session_id& id, const core::take_reply& r, const caller& c) {
  if (r.what == core::status::ok) c.took(id);
  bool over{};
  {
    const io::held_mutex hold(mutex_);
    patrol_.taken(id, r);
    over = !patrol_.under_way();
  }
  if (over) go_on(c);
}

// Among many dead the next round is due before a heartbeat of anybody here may come.
void patrolling::go_on(const caller& c) {
  time_point next;
  {
    const io::held_mutex hold(mutex_);
    next = patrol_.next();
  }
  if (next != time_point::max()) loop_->at(next, c.again);
}

}  // namespace holdfast::client
