#include <holdfast/session.hpp>

#include "client/acquisition.hpp"
#include "client/failure.hpp"
#include "client/left_alone.hpp"
#include "client/session_core.hpp"
#include "client/store_core.hpp"
#include "io/thread/background.hpp"
#include "io/thread/latch.hpp"
#include "io/thread/recycled.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <utility>

namespace holdfast {

namespace {

result<void> check_options(const lock_name& name, const acquire_options& o) {
  if (auto named = name.check(); !named) return named;
  if (o.wait < duration::zero()) {
    return error(errc::invalid_argument, "the wait is " + print_duration(o.wait) +
                                             "; zero tries once, and holdfast::forever "
                                             "waits without a limit");
  }
  const auto n = o.mode.limit();
  if (o.mode.is_permits() && (n == 0 || n > mode::permits_max)) {
    return error(errc::invalid_argument, "permits(" + std::to_string(n) +
                                             "): the number must be from 1 to " +
                                             std::to_string(mode::permits_max));
  }
  return {};
}

client::session_core& held(const std::shared_ptr<client::session_core>& core) noexcept {
  if (!core) detail::bad_access("a session that was moved from was used");
  return *core;
}

using added = client::lock_table::added;

error not_added(client::session_core& core, const lock_name& name, added why) {
  const std::string which = name.printable();
  if (why == added::session_is_over) return core.why_over();
  if (why == added::let_go) {
    return {errc::busy, "the store has not confirmed yet that this session let " + which +
                            " go, which is repeated; try again in a moment, or in another session"};
  }
  return {errc::busy, "this session holds or awaits " + which +
                          " already; users of one name need a session each"};
}

// Begins an acquire; an error says that it could not even begin, and then `done` is left alone.
result<std::shared_ptr<client::acquisition>> begin(
    const std::shared_ptr<client::session_core>& core, lock_name name, acquire_options options,
    completion<lock>& done) {
  if (held(core).forked()) return client::forked_error();
  if (auto good = check_options(name, options); !good) return good.error();
  if (auto usable = core->usable(); !usable) return usable.error();
  if (!done) {
    auto may = core->store().may_wait("acquire " + name.printable());
    if (!may) return may.error();
  }
  if (options.stop.stop_requested()) {
    return error(errc::cancelled, "acquire " + name.printable() + ": cancelled before it began");
  }
  auto g = io::make_recycled<client::grant>(core, std::move(name), options.mode);
  auto a = io::make_recycled<client::acquisition>(core, std::move(options));
  if (const auto r = core->locks().add(*g, *a); r != added::yes) {
    return not_added(*core, g->name(), r);
  }
  a->start(std::move(g), std::move(done));
  return a;
}

result<lock> acquire_in(const std::shared_ptr<client::session_core>& core, lock_name name,
                        acquire_options options) {
  completion<lock> none;
  auto begun = begin(core, std::move(name), std::move(options), none);
  if (!begun) return begun.error();
  return (*begun)->wait();
}

void drop(std::shared_ptr<client::session_core>& core) noexcept {
  if (!core) return;
  if (core->store().left_alone()) return client::leave_alone(std::move(core));
  if (const auto closed = core->close(); !closed) {
    // Nobody to tell: the record falls when its ttl has run out.
  }
  // Here: the last one to let go of the store may be a thread that must not wait.
  core->store().notes().settle();
  core.reset();
}

}  // namespace

session::session(std::shared_ptr<client::session_core> core) noexcept : core_(std::move(core)) {}
session::session(session&&) noexcept = default;

session& session::operator=(session&& other) noexcept {
  if (this == &other) return *this;
  drop(core_);
  core_ = std::move(other.core_);
  return *this;
}

session::~session() { drop(core_); }

const session_id& session::id() const noexcept { return held(core_).id(); }
const std::string& session::url() const noexcept { return held(core_).store().url(); }
session_status session::status() const { return held(core_).status(); }
duration session::ttl() const noexcept { return held(core_).ttl(); }
int session::life_descriptor() const noexcept { return held(core_).life_descriptor(); }

result<void> session::close() {
  // What is called in here may own this session, and end it.
  const auto own = core_;
  return held(own).close();
}

duration session::remaining() const noexcept {
  return held(core_).forked() ? duration::zero() : core_->lease().remaining(clock::now());
}

std::stop_token session::lost() const noexcept {
  return held(core_).forked() ? client::forked_stop() : core_->lost();
}

result<lock> session::acquire(lock_name name, acquire_options options) {
  return acquire_in(core_, std::move(name), std::move(options));
}

result<lock> session::try_acquire(lock_name name, holdfast::mode mode) {
  acquire_options once;
  once.mode = mode;
  return acquire(std::move(name), std::move(once));
}

void session::acquire(lock_name name, acquire_options options, completion<lock> done) {
  if (!done) detail::bad_access("an empty completion was given to acquire()");
  const auto begun = begin(core_, std::move(name), std::move(options), done);
  if (!begun) done(begun.error());
}

namespace {

/// Blocks until each has left: all at once, for on a server that hangs every answer takes its whole
/// time.
void give_back(std::vector<std::optional<lock>>& taken) {
  struct rendezvous {
    std::atomic<std::size_t> missing{1};
    io::latch done;
    void one_less() {
      if (--missing == 0) done.open();
    }
  };
  const auto all = std::make_shared<rendezvous>();
  for (auto& one : taken) {
    if (!one) continue;
    ++all->missing;
    std::move(*one).release([all](const result<void>&) { all->one_less(); });
  }
  all->one_less();
  // A thread of the library may be the one that brings the answers.
  if (!io::on_library_thread()) all->done.wait();
}

}  // namespace

result<std::vector<lock>> session::acquire_all(std::vector<lock_name> names,
                                               acquire_options options) {
  // An observer that hears of a grant may own this session, and end it.
  const auto own = core_;
  held(own);
  if (names.empty())
    return error(errc::invalid_argument, "acquire_all: the list of names is empty");
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // In one order for all callers: two that want the same names never each hold what the other waits
  // for.
  std::ranges::sort(
      order, {}, [&](std::size_t i) -> const auto& { return names[i]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (names[order[i - 1]] != names[order[i]]) continue;
    return error(errc::invalid_argument,
                 "acquire_all: " + names[order[i]].printable() + " is in the list twice");
  }
  const auto began = clock::now();
  std::vector<std::optional<lock>> taken(names.size());
  for (const auto at : order) {
    auto one = options;
    if (options.wait > duration::zero() && options.wait != forever) {
      // Never zero: a wait that is used up ends with timed_out, not with a try's busy.
      one.wait = std::max(options.wait - (clock::now() - began), duration{1});
    }
    auto got = acquire_in(own, names[at], std::move(one));
    if (!got) {
      give_back(taken);
      return got.error();
    }
    taken[at].emplace(std::move(*got));
  }
  // Locks with leases of their own (redlock:) may pass while the others are waited for.
  for (const auto& one : taken) {
    auto held = one->check();
    if (held) continue;
    give_back(taken);
    return held.error();
  }
  std::vector<lock> all;
  all.reserve(names.size());
  for (auto& one : taken) all.push_back(std::move(*one));
  return all;
}

result<session> open(std::string_view url, session_options options) {
  auto opened = store::open(url);
  if (!opened) return opened.error();
  return opened->open_session(std::move(options));
}

}  // namespace holdfast
