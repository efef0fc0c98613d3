#pragma once

#include "io/thread/mutex.hpp"

#include <cstddef>
#include <deque>
#include <functional>

namespace holdfast::engines::redis {

/// Bounds how many questions are under way whose answers list who is ahead.
///
/// Redis ends a connection that also listens for messages when 32 MB of answers wait to be read
/// (client-output-buffer-limit pubsub), and a thousand who join one queue at once would be answered
/// with more. Few at first; then as many as are answered by a few megabytes.
///
/// Thread safety: every function, from any thread.
class window {
 public:
  /// One of both is called, once.
  struct question {
    std::function<void()> ask;
    std::function<void()> give_up;  ///< It was not asked, for others were not answered.
  };

  /// Asks it on this thread, or later, on the thread of an answer.
  void enter(question q) HOLDFAST_EXCLUDES(mutex_);
  /// One was answered, and listed so many.
  void answered(std::size_t listed) HOLDFAST_EXCLUDES(mutex_);
  /// One had no answer in time: few again, and those that wait are given up. Each would wait for
  /// all before it to have no answer either.
  void unanswered() HOLDFAST_EXCLUDES(mutex_);
  /// One could not be asked. Nor can those that wait, so all of them are refused.
  void refused() HOLDFAST_EXCLUDES(mutex_);
  /// Asks everything.
  void flush() HOLDFAST_EXCLUDES(mutex_);

 private:
  /// Those who wait, up to `room` under way. They are asked without the mutex.
  void let_in(std::size_t room) HOLDFAST_EXCLUDES(mutex_);

  static constexpr std::size_t room_at_first = 8;

  io::mutex mutex_;
  std::size_t room_ HOLDFAST_GUARDED_BY(mutex_){room_at_first};
  std::size_t under_way_ HOLDFAST_GUARDED_BY(mutex_){};
  std::size_t listed_ HOLDFAST_GUARDED_BY(mutex_){};  ///< About the longest list of late.
  std::deque<question> waiting_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::engines::redis
