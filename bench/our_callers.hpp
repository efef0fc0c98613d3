#pragma once

#include "bench/measure.hpp"
#include "io/thread/latch.hpp"

#include <holdfast/lock_name.hpp>
#include <holdfast/session.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {

/// How long a side is measured.
class stretch {
 public:
  explicit stretch(double seconds) : end_(now_us() + seconds * 1e6) {}
  bool is_over() const { return now_us() >= end_; }

 private:
  double end_;
};

/// The median time of acquire() for one caller that waits for each answer and releases in between;
/// it goes through so many names.
inline double our_p50(session& s, double seconds, std::size_t names = 1'000) {
  std::vector<double> took;
  for (const stretch t(seconds); !t.is_over();) {
    lock_name name("ours:" + std::to_string(took.size() % names));
    const double begin = now_us();
    auto l = s.acquire(std::move(name));
    took.push_back(now_us() - begin);
    if (!l) throw std::runtime_error(l.error().message());
    if (auto r = std::move(*l).release(); !r) throw std::runtime_error(r.error().message());
  }
  return median(std::move(took));
}

/// Callers that live in the library's callbacks, each with a name of its own.
class our_callers {
 public:
  our_callers(session& s, std::size_t count) : session_(s) {
    for (std::size_t i = 0; i < count; ++i) names_.push_back("ours:" + std::to_string(i));
  }

  std::uint64_t run(double seconds) {
    left_ = names_.size();
    for (std::size_t i = 0; i < names_.size(); ++i) begin(i);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    over_ = true;
    done_.wait();
    if (failure_) throw std::runtime_error(*failure_);
    return pairs_;
  }

 private:
  void begin(std::size_t i) {
    session_.acquire(lock_name(names_[i]), {}, [this, i](result<lock> l) {
      if (!l) return failed(l.error());
      std::move(*l).release([this, i](result<void> r) {
        if (!r) return failed(r.error());
        ++pairs_;
        if (!over_) return begin(i);
        ended();
      });
    });
  }
  void failed(const error& e) {
    {
      const std::lock_guard hold(mutex_);
      if (!failure_) failure_ = e.message();
    }
    ended();
  }
  void ended() {
    if (--left_ == 0) done_.open();
  }

  session& session_;
  std::vector<std::string> names_;
  std::atomic<bool> over_{};
  std::atomic<std::size_t> left_{};
  std::atomic<std::uint64_t> pairs_{};
  std::mutex mutex_;
  std::optional<std::string> failure_;
  io::latch done_;
};

}  // namespace holdfast::bench
