#pragma once

/// \file
/// Completion tokens of standalone Asio (1.22 or newer) over the callback form of a session.
///
/// This is the only public header that includes Asio, and it has no logic of its own, so the
/// library need not be built with the same Asio. <holdfast/session.hpp> does not include it.

#include <holdfast/completion.hpp>
#include <holdfast/session.hpp>

#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>

#include <atomic>
#include <memory>
#include <stop_token>
#include <utility>

namespace holdfast {

namespace detail {

/// Joins the caller's stop token and Asio's cancellation slot into one stop source.
///
/// Two sources are needed: a `std::stop_source` cannot follow another one, and an Asio slot has
/// room for one handler only. Lives until the handler has run.
class cancellation {
 public:
  explicit cancellation(std::stop_token outer)
      : source_(std::make_shared<std::stop_source>()),
        forward_(std::move(outer), stopper{source_}) {}

  std::stop_token token() const { return source_->get_token(); }
  const std::shared_ptr<std::stop_source>& source() const { return source_; }

 private:
  struct stopper {
    std::shared_ptr<std::stop_source> source;
    void operator()() const { source->request_stop(); }
  };
  std::shared_ptr<std::stop_source> source_;
  std::stop_callback<stopper> forward_;
};

/// Runs an Asio handler on its own executor and keeps that executor busy until then.
///
/// Posted and never dispatched: an operation may complete inside the call that begins it, and a
/// coroutine that is resumed there uses more stack with every further operation.
///
/// The handler may stop the context, which may be destroyed then. So it waits until the thread that
/// posted it has left the executor; that thread waits for nothing in there.
template <class T, class Handler>
completion<T> on_executor(Handler handler, std::shared_ptr<cancellation> stop) {
  struct operation {
    Handler handler;
    decltype(::asio::make_work_guard(std::declval<const Handler&>())) work;
    std::shared_ptr<cancellation> stop;
  };
  auto work = ::asio::make_work_guard(handler);
  auto op =
      std::make_unique<operation>(operation{std::move(handler), std::move(work), std::move(stop)});
  return [op = std::move(op)](result<T> r) mutable {
    const auto posted = std::make_shared<std::atomic_flag>();
    {
      const auto executor = op->work.get_executor();
      ::asio::post(executor, [op = std::move(op), posted, r = std::move(r)]() mutable {
        posted->wait(false);
        auto slot = ::asio::get_associated_cancellation_slot(op->handler);
        if (slot.is_connected()) slot.clear();
        std::move(op->handler)(std::move(r));
      });
    }
    posted->test_and_set();
    posted->notify_one();
  };
}

}  // namespace detail

/// session::acquire for any Asio completion token: a callback, `asio::use_awaitable`, ...
///
/// Completes with one `result<lock>`: contention is a value, so a coroutine does not throw for
/// it. The handler runs on its associated executor, which counts as busy until then, and never
/// inside this call.
///
/// Cancellation: Asio's (of any type) and `options.stop` both end the wait with
/// `errc::cancelled`, after the request that is under way; see session::acquire for how long that
/// is on a store that does not answer, where the result may be `errc::outcome_unknown`. A lock
/// that is granted at the same moment is either the result or given back, never both.
///
/// On `local:` the work is done inside this call, and inside async_release(): for 2 s at most,
/// while another process is stopped inside the store.
///
/// Lifetime: `s` must live until the operation has begun; closing or destroying it later
/// completes the operation with `errc::lost`. The executor's context must live until the handler
/// has run, since a later answer is posted to it.
///
/// Errors: as session::acquire, in the result.
///
/// **With g++ 12, put options that have a `stop` into a variable before the co_await.** That
/// compiler destroys an aggregate that is written within a co_await expression twice, whatever
/// the library: `{.wait = 1s, .stop = token}` there frees the token's state while it is in use.
///
///     acquire_options o{.wait = 1s, .stop = token};
///     auto l = co_await async_acquire(s, lock_name("a"), o, asio::use_awaitable);
template <class Token>
auto async_acquire(session& s, lock_name name, acquire_options options, Token&& token) {
  return ::asio::async_initiate<Token, void(result<lock>)>(
      [&s](auto handler, lock_name n, acquire_options o) {
        auto stop = std::make_shared<detail::cancellation>(std::move(o.stop));
        o.stop = stop->token();
        auto slot = ::asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) {
          slot.assign(
              [source = stop->source()](::asio::cancellation_type) { source->request_stop(); });
        }
        s.acquire(std::move(n), std::move(o),
                  detail::on_executor<lock>(std::move(handler), std::move(stop)));
      },
      token, std::move(name), std::move(options));
}

/// lock::release for any Asio completion token.
///
/// Completes with one `result<void>` on the handler's associated executor, which counts as busy
/// until then, and never inside this call. It cannot be cancelled. The lock is over as soon as
/// the operation has begun: before this returns, or, with a token that defers it (`deferred`,
/// `use_awaitable`), when it is started or awaited. An operation that is never started gives the
/// lock back as the destructor does. Errors: as lock::release, in the result.
template <class Token>
auto async_release(lock l, Token&& token) {
  return ::asio::async_initiate<Token, void(result<void>)>(
      [](auto handler, lock given) {
        std::move(given).release(detail::on_executor<void>(std::move(handler), nullptr));
      },
      token, std::move(l));
}

}  // namespace holdfast
