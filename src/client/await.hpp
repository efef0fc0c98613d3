#pragma once

#include "core/engine.hpp"
#include "io/thread/latch.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace holdfast::client {

/// Calls `start(callback)` and blocks until the callback has run. The engine bounds the time.
template <class Reply, class Start>
Reply await(core::engine& on, Start&& start) {
  struct rendezvous {
    std::optional<Reply> reply;
    io::latch done;
    std::shared_ptr<rendezvous> self;
  };
  const auto meet = std::make_shared<rendezvous>();
  meet->self = meet;
  // One plain pointer fits into std::function without another allocation.
  start([at = meet.get()](Reply r) {
    const auto keep = std::move(at->self);
    at->reply.emplace(std::move(r));
    at->done.open();
  });
  if (!meet->done.is_open()) (void)on.lend(meet->done.place());
  meet->done.wait();
  return std::move(*meet->reply);
}

/// An engine's operation as a plain call: `call(e, &core::engine::take, request)`.
template <class Reply, class Request>
Reply call(core::engine& e, void (core::engine::*operation)(const Request&, core::on<Reply>),
           const Request& r) {
  return await<Reply>(e, [&](auto done) { (e.*operation)(r, std::move(done)); });
}
template <class Reply>
Reply call(core::engine& e, void (core::engine::*operation)(core::on<Reply>)) {
  return await<Reply>(e, [&](auto done) { (e.*operation)(std::move(done)); });
}

/// await() for a thread of the library, which may be the one that brings the answer: it never
/// waits, and gets the answer only when that is there at once.
template <class Reply, class Start>
std::optional<Reply> answer_at_once(Start&& start) {
  struct rendezvous {
    std::optional<Reply> reply;
    io::latch done;
  };
  const auto meet = std::make_shared<rendezvous>();
  start([meet](Reply r) {
    meet->reply.emplace(std::move(r));
    meet->done.open();
  });
  if (!meet->done.is_open()) return std::nullopt;
  return std::move(meet->reply);
}

}  // namespace holdfast::client
