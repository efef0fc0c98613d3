#include "io/name_watch.hpp"

#include "io/loop.hpp"
#include "io/random.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::io {

name_watch::name_watch(const std::shared_ptr<loop>& l, target of, question ask,
                       std::function<void(const error&)> moved)
    : loop_(l), of_(std::move(of)), ask_(std::move(ask)), moved_(std::move(moved)) {}

name_watch::~name_watch() {
  if (const auto l = loop_.lock()) l->cancel(timer_);
}

std::shared_ptr<name_watch> name_watch::start(const std::shared_ptr<loop>& l, target of,
                                              question ask,
                                              std::function<void(const error&)> moved) {
  auto made = std::shared_ptr<name_watch>(
      new name_watch(l, std::move(of), std::move(ask), std::move(moved)));
  made->look_later();
  return made;
}

void name_watch::look_later() {
  const auto l = loop_.lock();
  if (!l) return;
  const auto more = random_bits() % static_cast<std::uint64_t>(of_.every.count() / 4 + 1);
  timer_ = l->at(clock::now() + of_.every + duration(more), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look();
  });
}

void name_watch::look() {
  ask_([weak = weak_from_this(), post_to = loop_](result<addresses> all) {
    // On a thread of the resolver: the loop may be gone when it has its answer.
    const auto l = post_to.lock();
    if (!l) return;
    l->post([weak, all = std::move(all)] {
      if (const auto self = weak.lock()) self->found(all);
    });
  });
}

void name_watch::found(const result<addresses>& all) {
  const auto in_use = [&](const socket_address& a) { return text_of(a) == of_.address; };
  if (!all || all->empty() || std::ranges::any_of(*all, in_use)) return look_later();
  moved_(error(errc::unavailable, "the name '" + of_.name + "' leads to " + text_of(all->front()) +
                                      " now, and no longer to " + of_.address));
}

}  // namespace holdfast::io
