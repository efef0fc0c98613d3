#include "io/net/name_watch.hpp"

#include "io/thread/loop.hpp"
#include "io/thread/random.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::io {

namespace {

/// How much sooner than usual a missing address is asked for again.
constexpr int confirm_divisor = 16;

}  // namespace

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
  made->look_after(made->of_.every);
  return made;
}

void name_watch::look_after(duration pause) {
  const auto l = loop_.lock();
  if (!l) return;
  const auto more = random_bits() % static_cast<std::uint64_t>(pause.count() / 4 + 1);
  timer_ = l->at(clock::now() + pause + duration(more), [weak = weak_from_this()] {
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
  const auto host = text_of(of_.in_use);
  const auto is_like_it = [&](const socket_address& a) {
    return a.bytes.ss_family == of_.in_use.bytes.ss_family;
  };
  const auto is_it = [&](const socket_address& a) { return text_of(a) == host; };
  const bool is_missing =
      all && std::ranges::any_of(*all, is_like_it) && std::ranges::none_of(*all, is_it);
  if (is_missing && was_missing_) {
    return moved_(error(errc::unavailable, "the name '" + of_.name + "' leads to " +
                                               text_of(all->front()) + " now, and no longer to " +
                                               host));
  }
  was_missing_ = is_missing;
  look_after(is_missing ? of_.every / confirm_divisor : of_.every);
}

}  // namespace holdfast::io
