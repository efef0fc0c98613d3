#include "tests/engine/conformance.hpp"

#include "core/rounds_fixture.hpp"
#include "core/sanitizer.hpp"
#include "core/store_url.hpp"
#if defined(HOLDFAST_ENGINE_ETCD)
#include "engines/etcd/open.hpp"
#include "tests/etcd/server.hpp"
#endif
#if defined(HOLDFAST_ENGINE_LOCAL)
#include "engines/local/open.hpp"
#endif
#if defined(HOLDFAST_ENGINE_MEMORY)
#include "engines/memory/open.hpp"
#endif
#if defined(HOLDFAST_ENGINE_REDIS)
#include "engines/redis/open.hpp"
#include "tests/redis_server/server.hpp"
#endif
#if defined(HOLDFAST_ENGINE_ZOOKEEPER)
#include "engines/zookeeper/open.hpp"
#include "tests/zookeeper/server.hpp"
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <ostream>
#include <stdexcept>

#include <unistd.h>

namespace holdfast::conformance {

using namespace core;

#if defined(HOLDFAST_ENGINE_ETCD)
namespace {

// One cluster for all tests of this process; each test has a prefix of its own. Nobody is to be
// elected because the machine is busy.
template <std::size_t Servers>
std::string etcd_url(const std::string& directory) {
  static etcd_tests::servers running(Servers, {.flags = {"--election-timeout=5000"}, .tls = false});
  return running.url(directory.substr(directory.rfind('/') + 1)) + "?node_timeout=10s";
}

}  // namespace
#endif

#if defined(HOLDFAST_ENGINE_REDIS)
namespace {

/// One server for all tests of a program, and a database of it for each directory.
std::string redis_url(const std::string& directory) {
  static tests::temporary_directory notes;
  static redis_tests::server server({.settings = {"--databases", "5000"}});
  static std::map<std::string, std::size_t> databases;
  ::setenv("XDG_STATE_HOME", notes.path().c_str(), 1);
  ::setenv("HOLDFAST_RUN_DIRECTORY", (notes.path() + "/run").c_str(), 1);
  const auto database = databases.emplace(directory, databases.size()).first->second;
  return "redis://" + server.address() + "/" + std::to_string(database) +
         "?assume_fresh=yes&max_ttl=1h";
}

}  // namespace
#endif

#if defined(HOLDFAST_ENGINE_ZOOKEEPER)
namespace {

// One ensemble for all tests of this process; each test has a root of its own.
template <std::size_t Servers>
std::string zookeeper_url(const std::string& directory) {
  static tests::temporary_directory notes;
  static zookeeper_tests::servers running(Servers);
  ::setenv("HOLDFAST_RUN_DIRECTORY", (notes.path() + "/run").c_str(), 1);
  return running.url(directory.substr(directory.rfind('/') + 1)) + "?node_timeout=20s";
}

}  // namespace
#endif

std::vector<engine_kind> built_engines() {
  std::vector<engine_kind> all;
#if defined(HOLDFAST_ENGINE_MEMORY)
  all.push_back({"memory",
                 [](const std::string& d) { return "memory:" + d.substr(d.rfind('/') + 1); },
                 [](const store_url& u) { return engines::memory::open_memory(u); }});
#endif
#if defined(HOLDFAST_ENGINE_LOCAL)
  all.push_back({"local", [](const std::string& d) { return "local:" + d + "/store"; },
                 [](const store_url& u) { return engines::local::open_local(u); }});
#endif
#if defined(HOLDFAST_ENGINE_ETCD)
  const auto open_etcd = [](const store_url& u) { return engines::etcd::open_etcd(u); };
  all.push_back({"etcd", etcd_url<1>, open_etcd, false, 1});
  all.push_back({"etcd_cluster", etcd_url<3>, open_etcd, false, 3});
#endif
#if defined(HOLDFAST_ENGINE_REDIS)
  all.push_back(
      {"redis", redis_url, [](const store_url& u) { return engines::redis::open_redis(u); }, true});
#endif
#if defined(HOLDFAST_ENGINE_ZOOKEEPER)
  const auto open_zookeeper = [](const store_url& u) {
    return engines::zookeeper::open_zookeeper(u);
  };
  all.push_back({"zookeeper", zookeeper_url<1>, open_zookeeper, false, 1});
  all.push_back({"zookeeper_ensemble", zookeeper_url<3>, open_zookeeper, false, 3});
#endif
  return all;
}

std::string kind_name(const testing::TestParamInfo<engine_kind>& info) { return info.param.name; }

namespace {

template <class R, class Start>
R answer(Start start) {
  auto promised = std::make_shared<std::promise<R>>();
  auto got = promised->get_future();
  start([promised](R r) { promised->set_value(std::move(r)); });
  if (got.wait_for(std::chrono::seconds{60}) != std::future_status::ready) {
    throw std::runtime_error("the engine did not answer within 60 s");
  }
  return got.get();
}

asker open_asker(const engine_kind& kind, const std::string& directory,
                 const std::string& url_end = {}) {
  auto url = store_url::parse(kind.url_in(directory) + url_end);
  auto opened = kind.open(url.value());
  return asker(opened.value().engine);
}

}  // namespace

open_reply asker::open(const open_request& r) {
  return answer<open_reply>([&](auto done) { engine_->open(r, done); });
}
beat_reply asker::beat(const beat_request& r) {
  return answer<beat_reply>([&](auto done) { engine_->beat(r, done); });
}
reply asker::close(const close_request& r) {
  return answer<reply>([&](auto done) { engine_->close(r, done); });
}
queue_view asker::enqueue(const enqueue_request& r) {
  return answer<queue_view>([&](auto done) { engine_->enqueue(r, done); });
}
leave_reply asker::leave(const leave_request& r) {
  return answer<leave_reply>([&](auto done) { engine_->leave(r, done); });
}
queue_view asker::confirm(const confirm_request& r) {
  return answer<queue_view>([&](auto done) { engine_->confirm(r, done); });
}
take_reply asker::take(const take_request& r) {
  return answer<take_reply>([&](auto done) { engine_->take(r, done); });
}
deny_reply asker::deny(const deny_request& r) {
  return answer<deny_reply>([&](auto done) { engine_->deny(r, done); });
}
listing asker::list() {
  return answer<listing>([&](auto done) { engine_->list(done); });
}

glance_reply asker::glance(const glance_request& r) {
  return answer<glance_reply>([&](auto done) { engine_->glance(r, done); });
}

session_id fresh_id() {
  static std::atomic<std::uint64_t> last{0};
  const std::uint64_t parts[2] = {static_cast<std::uint64_t>(::getpid()), ++last};
  session_id id;
  static_assert(sizeof parts == sizeof id.bytes);
  std::memcpy(id.bytes.data(), parts, sizeof parts);
  return id;
}

open_request draft_of(session_id id, duration ttl) {
  open_request r;
  r.draft.id = id;
  r.draft.ttl = ttl;
  r.draft.where = {11, 22};
  r.draft.owner.host = "host";
  r.draft.owner.boot_id = "boot";
  r.draft.owner.pid = 4711;
  r.draft.owner.program = "conformance";
  r.draft.owner.instance = "one";
  r.draft.owner.label = "a label, \xc3\xa4 and all";
  r.draft.owner.started = wall_time{std::chrono::microseconds{17}};
  r.draft.opened = wall_time{std::chrono::microseconds{18}};
  return r;
}

member::member(asker a, duration ttl) : ask_(std::move(a)), id_(fresh_id()) {
  const auto r = ask_.open(draft_of(id_, ttl));
  if (r.what != status::ok) throw std::runtime_error("open: " + r.text);
  at_ = r.at;
  gate_ = r.gate;
}

enqueue_request member::next_request(const std::string& name, mode how) {
  enqueue_request r;
  r.name = lock_name(name);
  r.id = id_;
  r.inc = at_.inc;
  r.gate = gate_;
  r.request = ++request_;
  r.how = how;
  r.since = wall_time{std::chrono::microseconds{19}};
  return r;
}

queue_view member::enqueue(const std::string& name, mode how) {
  return ask_.enqueue(next_request(name, how));
}

queue_view member::attempt(const std::string& name, mode how) {
  auto r = next_request(name, how);
  r.leave_if_busy = true;
  return ask_.enqueue(r);
}

queue_view member::confirm(const std::string& name, token order) {
  return ask_.confirm({lock_name(name), id_, at_.inc, order});
}

leave_reply member::leave(const std::string& name, token order) {
  return ask_.leave({lock_name(name), id_, at_.inc, 0, order, false});
}

leave_reply member::leave_unknown(const std::string& name, std::uint64_t request) {
  auto r = ask_.leave({lock_name(name), id_, at_.inc, request, {}, true});
  if (r.what == status::ok) gate_ = r.gate;
  return r;
}

beat_reply member::beat() { return ask_.beat({id_, at_.inc, ++attempt_}); }
reply member::close() { return ask_.close({id_, at_.inc}); }

session_record member::record() {
  for (auto& s : ask_.list().sessions) {
    if (s.id == id_) return s;
  }
  throw std::runtime_error("the session is not listed");
}

void engine_test::SetUp() {
  ask_ = std::make_unique<asker>(open_asker(GetParam(), scratch_.path()));
}

int engine_test::count(int reduced, int full) {
  const int wanted = core::rounds(reduced, full);
  const int affordable = GetParam().servers > 0 ? fewer_on_clusters((wanted + 7) / 8) : wanted;
  return HOLDFAST_UNDER_ASAN || HOLDFAST_UNDER_TSAN ? (affordable + 7) / 8 : affordable;
}

int engine_test::fewer_on_clusters(int all) {
  return GetParam().servers > 1 ? core::rounds(std::max(all / 4, 1), all) : all;
}

// All who name one URL share one engine; the time that this one ends with is another.
asker engine_test::again() {
  return open_asker(GetParam(), scratch_.path(), GetParam().servers > 0 ? "1ms" : "");
}

std::vector<token> orders_of(const std::vector<rival>& rivals) {
  std::vector<token> orders;
  for (const auto& r : rivals) orders.push_back(r.order);
  return orders;
}

const listed_lock* find_lock(const listing& l, const std::string& name) {
  for (const auto& lock : l.locks) {
    if (lock.name.str() == name) return &lock;
  }
  return nullptr;
}

}  // namespace holdfast::conformance

namespace holdfast::core {

std::ostream& operator<<(std::ostream& out, status s) {
  static constexpr const char* names[] = {
      "ok",          "queued",   "busy",        "gone",    "denied",      "changed", "stale_gate",
      "conflicting", "too_many", "unsupported", "invalid", "unavailable", "unknown", "damaged"};
  return out << names[static_cast<std::size_t>(s)];
}

std::ostream& operator<<(std::ostream& out, const version& v) {
  return out << v.inc << '.' << v.beat << (v.denied ? " denied" : "");
}

}  // namespace holdfast::core

namespace holdfast {
std::ostream& operator<<(std::ostream& out, token t) { return out << t.value; }
}  // namespace holdfast
