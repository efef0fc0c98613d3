#include "tests/promises/store_promises.hpp"

#include "tests/temporary_directory.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

namespace holdfast::promises {
namespace {

/// What clients keep of this host's processes is not that of other programs.
bool keep_notes_apart() {
  static const tests::temporary_directory notes;
  ::setenv("XDG_STATE_HOME", notes.path().c_str(), 1);
  ::setenv("HOLDFAST_RUN_DIRECTORY", (notes.path() + "/run").c_str(), 1);
  return true;
}

/// What a test cannot go on without was refused.
struct refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
T value_of(result<T> r) {
  if (!r) throw refused(r.error().message());
  return std::move(*r);
}

std::vector<store_kind> kinds_with(bool store_kind::*what) {
  auto all = all_kinds();
  std::erase_if(all, [what](const store_kind& k) { return !(k.*what); });
  return all;
}

INSTANTIATE_TEST_SUITE_P(on, store_promises, testing::ValuesIn(all_kinds()), kind_name);
INSTANTIATE_TEST_SUITE_P(on, queue_promises, testing::ValuesIn(kinds_with(&store_kind::has_queue)),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(on, process_promises,
                         testing::ValuesIn(kinds_with(&store_kind::has_processes)), kind_name);
INSTANTIATE_TEST_SUITE_P(on, server_promises,
                         testing::ValuesIn(kinds_with(&store_kind::has_servers)), kind_name);
// A build may have none of them.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(queue_promises);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(process_promises);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(server_promises);

}  // namespace

std::vector<std::string> listener::heard() const {
  const std::lock_guard hold(mutex_);
  return heard_;
}

std::ptrdiff_t listener::count(const std::string& what) const {
  const auto all = heard();
  return std::ranges::count(all, what);
}

testing::AssertionResult listener::comes_to_hear(const std::string& what,
                                                 std::ptrdiff_t times) const {
  if (eventually([&] { return count(what) >= times; }, long_enough)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "heard " << testing::PrintToString(heard());
}

void listener::note(std::string what) {
  const std::lock_guard hold(mutex_);
  heard_.push_back(std::move(what));
}

store_promises::store_promises()
    : base_([this] {
        static const bool apart = keep_notes_apart();
        return apart ? kind().fresh() : std::string();
      }()) {}

std::string store_promises::url_of(const std::string& base, const std::string& node_timeout) const {
  const std::string query =
      kind().query + (kind().has_servers ? "node_timeout=" + node_timeout : std::string());
  return query.empty() ? base : base + "?" + query;
}

std::string store_promises::url_for(duration ttl) const {
  return url_of(base_, print_duration(ttl / 2));
}

session store_promises::open(session_options options) {
  const bool is_first = opened_++ % 2 == 0;
  return value_of(holdfast::open(is_first ? url() : url_of(base_, "9999ms"), std::move(options)));
}

session store_promises::open(duration ttl, std::shared_ptr<observer> told) const {
  return value_of(holdfast::open(url_for(ttl), {.ttl = ttl, .observer = std::move(told)}));
}

store store_promises::view() const { return value_of(store::open(url())); }

snapshot store_promises::list() const { return value_of(view().list()); }

std::future<result<lock>> store_promises::begin(session& s, const std::string& name,
                                                acquire_options options) {
  const auto told = std::make_shared<std::promise<result<lock>>>();
  auto answer = told->get_future();
  s.acquire(lock_name(name), std::move(options),
            [told](result<lock> l) { told->set_value(std::move(l)); });
  return answer;
}

lock store_promises::held_by(session& s, const std::string& name) {
  return value_of(s.acquire(lock_name(name), {.wait = long_enough}));
}

void store_promises::expect_free(const std::string& name) {
  session s = open();
  const auto l = s.acquire(lock_name(name), {.wait = long_enough});
  EXPECT_TRUE(succeeded(l)) << name;
}

testing::AssertionResult store_promises::comes_to_be_empty() const {
  auto seen = view();
  std::string left;
  const auto empty = [&] {
    const auto all = value_of(seen.list());
    left = std::to_string(all.locks.size()) + " locks, " + std::to_string(all.sessions.size()) +
           " sessions";
    return all.locks.empty() && all.sessions.empty();
  };
  if (eventually(empty, long_enough)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << left;
}

void store_promises::with_short_leases(const std::function<bool(duration ttl)>& round) const {
  std::string why = "each round was too slow";
  for (duration ttl = kind().ttl_min; ttl < 60s; ttl *= 2) {
    try {
      if (round(ttl) || HasFailure()) return;
    } catch (const refused& e) {
      why = e.what();  // The session may have ended before it was used.
    }
  }
  FAIL() << "no ttl is long enough for this machine: " << why;
}

}  // namespace holdfast::promises
