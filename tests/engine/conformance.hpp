#pragma once

#include "core/engine.hpp"
#include "engines/opened_store.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace holdfast::conformance {

/// One engine under test: how to name a fresh store in an empty directory, and how to open it.
struct engine_kind {
  std::string name;
  std::string (*url_in)(const std::string& directory);
  result<engines::opened_store> (*open)(const core::store_url& url);
  /// It records who was told that it holds, and skips the waiting entries of denied sessions;
  /// others count them until the session's record is gone.
  bool skips_denied_waiters{};
  /// How many servers commit every change: with one, a test does an eighth of what it does
  /// elsewhere. With three, the client is the same one and the reduced run does less again.
  int servers{};
};

inline void PrintTo(const engine_kind& kind, std::ostream* out) { *out << kind.name; }

/// Every engine that was built in and passes the suite, with a server of its own if it needs one.
std::vector<engine_kind> built_engines();
std::string kind_name(const testing::TestParamInfo<engine_kind>& info);

/// Asks an engine and waits for the answer. A second answer to one question ends the test program,
/// for the promise behind it refuses.
class asker {
 public:
  explicit asker(std::shared_ptr<core::engine> e) : engine_(std::move(e)) {}

  core::open_reply open(const core::open_request& r);
  core::beat_reply beat(const core::beat_request& r);
  core::reply close(const core::close_request& r);
  core::queue_view enqueue(const core::enqueue_request& r);
  core::leave_reply leave(const core::leave_request& r);
  core::queue_view confirm(const core::confirm_request& r);
  core::take_reply take(const core::take_request& r);
  core::deny_reply deny(const core::deny_request& r);
  core::listing list();
  core::glance_reply glance(const core::glance_request& r);
  core::engine& engine() { return *engine_; }

 private:
  std::shared_ptr<core::engine> engine_;
};

/// An id that no other call in this process has given.
session_id fresh_id();
core::open_request draft_of(session_id id, duration ttl = std::chrono::seconds{30});

/// One session that was opened, and the numbers it must send along.
class member {
 public:
  explicit member(asker a, duration ttl = std::chrono::seconds{30});

  session_id id() const { return id_; }
  std::uint64_t inc() const { return at_.inc; }
  std::uint64_t gate() const { return gate_; }
  core::version opened_at() const { return at_; }
  std::uint64_t last_request() const { return request_; }

  core::queue_view enqueue(const std::string& name, mode how = mode::exclusive());
  core::queue_view attempt(const std::string& name, mode how = mode::exclusive());
  core::enqueue_request next_request(const std::string& name, mode how = mode::exclusive());
  core::queue_view confirm(const std::string& name, token order);
  core::leave_reply leave(const std::string& name, token order);
  core::leave_reply leave_unknown(const std::string& name, std::uint64_t request);
  core::beat_reply beat();
  core::reply close();
  /// Its record as list() shows it; the test fails when it is not there.
  core::session_record record();

 private:
  asker ask_;
  session_id id_;
  core::version at_;
  std::uint64_t gate_{};
  std::uint64_t request_{};
  std::uint64_t attempt_{};
};

/// A fresh store of one engine, for one test.
class engine_test : public testing::TestWithParam<engine_kind> {
 protected:
  void SetUp() override;

  asker& ask() { return *ask_; }
  /// Another engine object on the same store.
  asker again();
  /// `reduced`, or `full` when HOLDFAST_TEST_FULL is set; where servers commit an eighth of it, and
  /// of that as many as fewer_on_clusters() says; under a sanitizer an eighth of what is left.
  static int count(int reduced, int full);
  /// `all`, or a quarter of it, at least one, in the reduced run where several servers commit.
  static int fewer_on_clusters(int all);
  member join(duration ttl = std::chrono::seconds{30}) { return member(ask(), ttl); }

 private:
  tests::temporary_directory scratch_;
  std::unique_ptr<asker> ask_;
};

std::vector<token> orders_of(const std::vector<core::rival>& rivals);
const core::listed_lock* find_lock(const core::listing& l, const std::string& name);

}  // namespace holdfast::conformance

namespace holdfast::core {
/// Printed by GoogleTest when a comparison fails.
std::ostream& operator<<(std::ostream& out, status s);
std::ostream& operator<<(std::ostream& out, const version& v);
}  // namespace holdfast::core
namespace holdfast {
std::ostream& operator<<(std::ostream& out, token t);
}
