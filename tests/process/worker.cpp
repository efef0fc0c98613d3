#include "tests/process/worker.hpp"

#include "tests/process/history.hpp"
#include "tests/process/page.hpp"

#include <holdfast/store.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace holdfast::process {

using namespace std::chrono_literals;

namespace {

/// What a worker may meet while others are killed and stopped around it.
bool expected(errc e) {
  return e == errc::lost || e == errc::unavailable || e == errc::outcome_unknown ||
         e == errc::timed_out || e == errc::busy;
}

class worker {
 public:
  worker(const place& at, std::string name, duration ttl)
      : place_(at),
        name_(std::move(name)),
        ttl_(ttl),
        page_(at.page()),
        log_(at.history(), "w" + std::to_string(::getpid())) {}

  int run() {
    while (page_->stop == 0) {
      const auto at = log_.pending(history::operation::open, "");
      auto s = holdfast::open(place_.url, {.ttl = ttl_});
      log_.done(history::operation::open, "", 0, at, s ? "ok" : name_of(s.error().code()));
      if (!s && !tolerate(s.error())) return 4;
      if (s && !hold_again_and_again(*s)) return 5;
    }
    return 0;
  }

 private:
  bool tolerate(const error& e) {
    if (expected(e.code())) return true;
    std::fprintf(stderr, "worker %d: %s\n", ::getpid(), e.message().c_str());
    return false;
  }

  bool hold_again_and_again(session& s) {
    while (page_->stop == 0) {
      const auto at = log_.pending(history::operation::acquire, name_);
      auto l = s.acquire(lock_name(name_), {.wait = 2s});
      log_.done(history::operation::acquire, name_, l ? l->token().value : 0, at,
                l ? "ok" : name_of(l.error().code()));
      if (l) {
        hold(*std::move(l));
      } else if (!tolerate(l.error())) {
        return false;
      }
      if (s.remaining() == duration::zero()) return true;
    }
    return true;
  }

  void hold(lock l) {
    const auto token = l.token().value;
    bool first = true;
    for (int i = 0; i < 10; ++i) {
      const auto at = history::writer::now();
      const auto held = l.check();
      log_.done(history::operation::check, name_, token, at,
                held ? "ok" : name_of(held.error().code()));
      if (!held) return;
      // Between the check and the write this process may be stopped: that is no lock's business.
      const auto patience = std::chrono::nanoseconds(ttl_ / 4).count();
      if (first && !enter(*page_, token, at, patience)) return;
      first = false;
      if (!write(*page_, token, at, patience)) return;
      std::this_thread::sleep_for(200us);
    }
    const auto at = log_.pending(history::operation::release, name_);
    const auto r = std::move(l).release();
    log_.done(history::operation::release, name_, token, at, r ? "ok" : name_of(r.error().code()));
  }

  const place& place_;
  std::string name_;
  duration ttl_;
  shared_page page_;
  history::writer log_;
};

int count_files(const std::string& directory) {
  int count = 0;
  std::error_code missing;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory, missing)) {
    if (!file.is_regular_file()) continue;
    std::fprintf(stderr, "left over: %s\n", file.path().c_str());
    ++count;
  }
  return count;
}

void make_older(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code missing;
  for (const auto& file : fs::recursive_directory_iterator(directory, missing)) {
    if (file.is_regular_file()) fs::last_write_time(file, file.last_write_time() - 1h, missing);
  }
}

}  // namespace

session join(const place& at, duration ttl, std::shared_ptr<observer> told) {
  const auto open = [&] {
    return holdfast::open(ttl < 1h ? at.url : at.patient_url, {.ttl = ttl, .observer = told});
  };
  auto s = open();
  // On a busy machine a server may take longer than the node_timeout of these tests.
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!s && s.error() == errc::unavailable && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(100ms);
    s = open();
  }
  if (!s) throw std::runtime_error(s.error().message());
  return *std::move(s);
}

int work(const place& at, const std::string& name, duration ttl) {
  return worker(at, name, ttl).run();
}

int look_for_leftovers(const place& at) {
  const bool is_served = !at.url.starts_with("local:");
  if (is_served) {
    // The files of those who may have a record under way stay for a while.
    make_older(at.run_path());
    if (!join(at, 2s).close()) return 5;
  }
  auto s = store::open(at.url);
  const auto all = s.value().list();
  int left = 0;
  for (const auto& l : all->locks) {
    std::fprintf(stderr, "left over: lock %s\n", l.name.printable().c_str());
    ++left;
  }
  // Whoever was killed before it asked for a lock is in nobody's way. Whoever opens a local store
  // clears it away, Redis does it after a while, and on the others an operator has to.
  const bool is_kept = at.url.starts_with("etcd:") || at.url.starts_with("zookeeper:");
  // Redlock's nodes forget a denial only when no heartbeat of its session can be on its way.
  const bool keeps_denials = at.url.starts_with("redlock:");
  for (const auto& one : all->sessions) {
    if (keeps_denials && one.denied) continue;
    const auto broken = is_kept ? s->break_session(one.id) : error(errc::unsupported);
    if (broken) continue;
    std::fprintf(stderr, "left over: session %s: %s\n", one.id.str().c_str(),
                 broken.error().message().c_str());
    ++left;
  }
  return left + count_files(at.store_path() + "/life") + count_files(at.run_path()) == 0 ? 0 : 6;
}

}  // namespace holdfast::process
