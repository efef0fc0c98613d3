#pragma once

#include "sim/store.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace holdfast::sim {

/// One question to a store: it may be lost, late, doubled or overtaken, and so may the answer.
///
/// `done` is called exactly once unless the caller is gone: with the answer; with `unknown` when
/// none came in time, after which the question may still arrive; or with `unavailable` when it
/// could not even be sent.
template <class Request, class Done>
class question : public std::enable_shared_from_this<question<Request, Done>> {
 public:
  using answer = decltype(std::declval<store&>().serve(std::declval<const Request&>()));

  question(context& c, store& to, guard from, Request r, Done done)
      : context_(c), to_(to), from_(from), request_(std::move(r)), done_(std::move(done)) {}

  void send() {
    const auto& s = context_.setup;
    auto self = this->shared_from_this();
    if (context_.mishap(s.refused)) {
      after(context_.dice.between(duration{0}, s.latency_most), core::status::unavailable);
      return;
    }
    after(context_.dice.between(s.timeout_least, s.timeout_most), core::status::unknown);
    if (!context_.mishap(s.lost)) travel();
    if (context_.mishap(s.duplicated)) double_it();
  }

 private:
  /// An enqueue is not repeated once it was answered: the port's engines transmit it only once.
  static constexpr bool repeats = !std::is_same_v<Request, core::enqueue_request>;

  duration way() {
    const auto& s = context_.setup;
    if (context_.mishap(s.late)) return context_.dice.between(s.latency_most, s.late_most);
    return context_.dice.between(s.latency_least, s.latency_most);
  }
  void travel() {
    context_.time.at(context_.time.now() + way(),
                     [self = this->shared_from_this()] { self->arrive(); });
  }
  void double_it() {
    if constexpr (repeats) {
      travel();
    } else {
      twice_ = true;
    }
  }
  void arrive() {
    if (!to_.up() || !from_.who->is_heard_by(to_.index())) return;
    auto a = std::make_shared<answer>(to_.serve(request_));
    if (twice_) *a = to_.serve(request_);
    if (context_.mishap(context_.setup.lost)) return;
    context_.time.at(context_.time.now() + way(), [self = this->shared_from_this(), a] {
      if (self->open_ && self->from_.who->hears(self->to_.index())) self->finish_later(a);
    });
  }
  void finish_later(const std::shared_ptr<answer>& a) {
    from_.who->post(context_.time.now(), from_,
                    [self = this->shared_from_this(), a] { self->finish(*a); });
  }
  void after(duration d, core::status what) {
    from_.who->post(context_.time.now() + d, from_, [self = this->shared_from_this(), what] {
      answer a;
      a.what = what;
      self->finish(a);
    });
  }
  void finish(const answer& a) {
    if (!open_) return;
    open_ = false;
    if (from_.who->survives_step()) done_(a);
  }

  context& context_;
  store& to_;
  guard from_;
  Request request_;
  Done done_;
  bool open_{true};
  bool twice_{};
};

template <class Request, class Done>
void ask(context& c, store& to, guard from, Request r, Done done) {
  std::make_shared<question<Request, Done>>(c, to, from, std::move(r), std::move(done))->send();
}

}  // namespace holdfast::sim
