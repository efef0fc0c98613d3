#pragma once

/// \file
/// Completion tokens of standalone Asio (1.22 or newer) over the callback form of a session.
///
/// This is the only public header that includes Asio, and it knows nothing of locks, so the
/// library need not be built with the same Asio. <holdfast/session.hpp> does not include it.
///
/// Asio 1.22 has `awaitable` and `co_spawn` with clang only where ASIO_HAS_CO_AWAIT is defined.

#include <holdfast/completion.hpp>
#include <holdfast/session.hpp>

#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/execution/context_as.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>

#include <list>
#include <memory>
#include <mutex>
#include <optional>
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

/// An operation that has begun and whose handler has not run.
class asio_operation {
 public:
  asio_operation() = default;
  asio_operation(const asio_operation&) = delete;
  asio_operation& operator=(const asio_operation&) = delete;
  virtual ~asio_operation() = default;
  /// Its context ends: destroys the handler without running it, and ends the wait.
  virtual void drop() = 0;
  /// In the child of a fork: no thread is there that would bring the answer.
  virtual void lose() = 0;

 private:
  friend class asio_operations;
  std::list<std::shared_ptr<asio_operation>>::iterator place_{};
};

/// The operations of one execution context: they are its own until their handlers run.
///
/// A handler, and whatever its coroutine owns, belongs to the context. When that ends no later
/// answer may touch either, and the end waits for the thread that is posting an answer.
class asio_operations {
 public:
  /// False: the context has ended.
  bool add(const std::shared_ptr<asio_operation>& o) {
    const std::lock_guard hold(mutex_);
    if (over_) return false;
    o->place_ = under_way_.insert(under_way_.end(), o);
    return true;
  }
  /// True: its handler is the caller's.
  bool take(const asio_operation& o) {
    const std::lock_guard hold(mutex_);
    if (over_) return false;
    under_way_.erase(o.place_);
    return true;
  }
  /// Runs `f`, which posts to the context, unless that has ended.
  template <class F>
  void unless_over(F f) {
    const std::lock_guard hold(mutex_);
    if (!over_) f();
  }
  void end() {
    std::list<std::shared_ptr<asio_operation>> dropped;
    {
      const std::lock_guard hold(mutex_);
      over_ = true;
      dropped.swap(under_way_);
    }
    // What a handler owns may be a session, whose end answers operations.
    for (const auto& o : dropped) o->drop();
  }

  /// Until the fork is over no thread of the library posts to the context, whose own mutex the
  /// child would find held.
  void before_fork() { fork_ = std::unique_lock(mutex_); }
  void after_fork() {
    if (fork_.owns_lock()) fork_.unlock();
  }
  void after_fork_in_child() {
    const auto hold = fork_.owns_lock() ? std::move(fork_) : std::unique_lock(mutex_);
    for (const auto& o : under_way_) o->lose();
  }

 private:
  std::mutex mutex_;
  std::unique_lock<std::mutex> fork_;
  bool over_{};
  std::list<std::shared_ptr<asio_operation>> under_way_;
};

/// Brings the end of an execution context, and a fork that it is told of, to its operations.
class asio_service final : public ::asio::execution_context::service {
 public:
  using key_type = asio_service;
  static inline ::asio::execution_context::id id;

  explicit asio_service(::asio::execution_context& of) : service(of) {}
  const std::shared_ptr<asio_operations>& operations() const { return operations_; }

 private:
  void shutdown() noexcept override { operations_->end(); }
  void notify_fork(::asio::execution_context::fork_event event) override {
    using context = ::asio::execution_context;
    if (event == context::fork_prepare) operations_->before_fork();
    if (event == context::fork_parent) operations_->after_fork();
    if (event == context::fork_child) operations_->after_fork_in_child();
  }

  const std::shared_ptr<asio_operations> operations_ = std::make_shared<asio_operations>();
};

/// Those of the executor's context; new ones, which never end, where it has none of Asio's.
template <class Executor>
std::shared_ptr<asio_operations> operations_of(const Executor& executor) {
  using context = ::asio::execution::context_as_t<::asio::execution_context&>;
  if constexpr (::asio::can_query<const Executor&, context>::value) {
    return ::asio::use_service<asio_service>(::asio::query(executor, context())).operations();
  } else {
    return std::make_shared<asio_operations>();
  }
}

/// Runs an Asio handler on its own executor and keeps that executor busy until then.
///
/// Posted and never dispatched: an operation may complete inside the call that begins it, and a
/// coroutine that is resumed there uses more stack with every further operation.
template <class T, class Handler>
class asio_operation_for final
    : public asio_operation,
      public std::enable_shared_from_this<asio_operation_for<T, Handler>> {
 public:
  asio_operation_for(Handler handler, std::shared_ptr<cancellation> stop)
      : operations_(operations_of(::asio::get_associated_executor(handler))),
        stop_(std::move(stop)) {
    auto work = ::asio::make_work_guard(handler);
    own_.emplace(content{std::move(handler), std::move(work), std::nullopt});
  }

  void begin() {
    if (!operations_->add(this->shared_from_this())) drop();
  }
  void answer(result<T> r) {
    operations_->unless_over([&] { post(std::move(r)); });
  }
  void drop() override {
    if (stop_) stop_->source()->request_stop();
    own_.reset();
  }
  void lose() override {
    // One that was answered before the fork is posted already.
    if (own_->outcome) return;
    post(error(errc::lost,
               "the operation was begun before this process was forked, and belongs to its parent: "
               "open a new session in the child"));
  }

 private:
  struct content {
    Handler handler;
    decltype(::asio::make_work_guard(std::declval<const Handler&>())) work;
    std::optional<result<T>> outcome;
  };

  void post(result<T> r) {
    own_->outcome.emplace(std::move(r));
    ::asio::post(own_->work.get_executor(), [self = this->shared_from_this()] { self->run(); });
  }
  void run() {
    if (!operations_->take(*this)) return;
    // The thread that brought the answer may let go of the operation later, and the context too.
    auto own = std::exchange(own_, std::nullopt);
    auto slot = ::asio::get_associated_cancellation_slot(own->handler);
    if (slot.is_connected()) slot.clear();
    std::move(own->handler)(std::move(*own->outcome));
  }

  const std::shared_ptr<asio_operations> operations_;
  const std::shared_ptr<cancellation> stop_;
  std::optional<content> own_;
};

template <class T, class Handler>
completion<T> on_executor(Handler handler, std::shared_ptr<cancellation> stop) {
  const auto op =
      std::make_shared<asio_operation_for<T, Handler>>(std::move(handler), std::move(stop));
  op->begin();
  return [op](result<T> r) { op->answer(std::move(r)); };
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
/// completes the operation with `errc::lost`. A context of Asio's that is destroyed with the
/// operation under way destroys the handler without running it, as for Asio's own operations: the
/// wait ends, and a lock that is granted then is given back. That goes on when the context is
/// gone: until it is done, `s` gets `busy` for the name. An executor that cannot be asked for its
/// `asio::execution_context` must work until the handler has run.
///
/// Fork: in a child whose context was told with notify_fork(), before the fork and behind it, an
/// operation under way completes with `errc::lost`, or with what it was answered before. In the
/// parent it goes on. As for Asio itself: nothing may use the context between the two calls.
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
