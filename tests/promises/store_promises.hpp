#pragma once

#include "tests/process/child.hpp"
#include "tests/promises/store_kind.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/observer.hpp>
#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::promises {

using namespace std::chrono_literals;
using process::eventually;

/// Longer than anything here takes; what never comes is known by it.
constexpr auto long_enough = 60s;

/// Keeps what an observer hears: "granted a", "waiting a", "released a", "lost a closed",
/// "session endangered", "beat", "took over broken", "took over silent".
class listener final : public observer {
 public:
  void on(const event::granted& e) noexcept override { note("granted " + e.name.str()); }
  void on(const event::waiting& e) noexcept override { note("waiting " + e.name.str()); }
  void on(const event::released& e) noexcept override { note("released " + e.name.str()); }
  void on(const event::lost& e) noexcept override {
    note("lost " + e.name.str() + " " + name_of(e.cause));
  }
  void on(const event::session_changed& e) noexcept override {
    note(std::string("session ") + name_of(e.state));
  }
  void on(const event::beat& e) noexcept override {
    if (e.acknowledged) note("beat");
  }
  void on(const event::took_over& e) noexcept override {
    note(e.broken ? "took over broken" : "took over silent");
  }

  std::vector<std::string> heard() const;
  std::ptrdiff_t count(const std::string& what) const;
  /// Looks until it has heard it so often.
  testing::AssertionResult comes_to_hear(const std::string& what, std::ptrdiff_t times = 1) const;

 private:
  void note(std::string what);

  mutable std::mutex mutex_;
  std::vector<std::string> heard_;
};

/// What a store promises to who uses the public headers, on a fresh store of each kind.
class store_promises : public testing::TestWithParam<store_kind> {
 protected:
  store_promises();

  const store_kind& kind() const { return GetParam(); }
  /// Of this test's store, whose servers may take their time.
  std::string url() const { return url_of(base_); }
  std::string url_of(const std::string& base, const std::string& node_timeout = "10s") const;
  /// Of the same store, for a session with this ttl.
  std::string url_for(duration ttl) const;
  /// By turns of one of two clients, which share nothing in this process: where there are servers
  /// each has its connections.
  session open(session_options options = {});
  session open(duration ttl, std::shared_ptr<observer> told = {}) const;
  store view() const;
  snapshot list() const;
  /// What asks at once, and is told later.
  static std::future<result<lock>> begin(session& s, const std::string& name,
                                         acquire_options options = {.wait = long_enough});
  /// The lock, or the test ends.
  static lock held_by(session& s, const std::string& name);
  /// A session of its own gets it.
  void expect_free(const std::string& name);
  /// Nobody holds or awaits anything.
  testing::AssertionResult comes_to_be_empty() const;
  /// Runs `round` with a short ttl; while it answers false or is refused something, for the machine
  /// was too slow for that one, with twice as long a ttl.
  void with_short_leases(const std::function<bool(duration ttl)>& round) const;

 private:
  const std::string base_;
  int opened_{};
};

/// Of engines with a queue; the others refuse its modes by their names, and have no order.
class queue_promises : public store_promises {};
/// Of engines whose stores several processes share.
class process_promises : public store_promises {};
/// Of engines with servers, which may be silent.
class server_promises : public store_promises {};

/// Whether what was begun ends within long_enough.
template <class T>
testing::AssertionResult comes(const std::future<T>& f) {
  if (f.wait_for(long_enough) == std::future_status::ready) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "nothing came";
}

/// The code of a failure; zero for a success.
template <class T>
errc code(const result<T>& r) {
  return r ? errc{} : r.error().code();
}

inline std::string kind_name(const testing::TestParamInfo<store_kind>& info) {
  return info.param.name;
}

}  // namespace holdfast::promises
