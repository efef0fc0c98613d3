#include "engines/redlock/listing.hpp"

#include "core/fnv1a.hpp"
#include "engines/redlock/commands.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using namespace std::chrono_literals;
using core::status;

constexpr unsigned page_size = 100;
/// A node may hold millions of keys of other programs; who looks waits no longer than this.
constexpr duration patience = 10s;
/// For a node that is slower than a majority; far longer than a busy one needs for a page.
constexpr duration grace_min = 100ms;
constexpr duration grace_in_doubt = 1s;

bool names_session(const std::string& value) { return value.find('.') != std::string::npos; }

/// The session in a value, or, for a holder without one, an id made of its own random bytes.
session_id owner_of(const std::string& value) {
  const auto text = names_session(value) ? value.substr(value.find('.') + 1) : value.substr(0, 32);
  return session_id::parse(text).value_or(session_id{});
}

}  // namespace

listing::listing(std::shared_ptr<cluster> c, std::shared_ptr<shown_tokens> shown,
                 core::on<core::listing> done)
    : cluster_(std::move(c)), shown_(std::move(shown)), done_(std::move(done)) {}

void listing::start() {
  began_ = clock::now();
  deadline_ = began_ + patience;
  const node_set all = cluster_->connected();
  {
    const io::held_mutex hold(mutex_);
    pending_ = all;
  }
  if (all.empty()) return done_(put_together());
  core::redlock::for_each(all, [this](node_index i) { ask(i, "0"); });
}

void listing::ask(node_index i, const std::string& cursor) {
  std::string bytes;
  commands::list(bytes, cursor, page_size);
  cluster_->ask(i, bytes, deadline_,
                [self = shared_from_this(), i](const io::redis_answer& a) { self->read(i, a); });
}

void listing::read(node_index i, const io::redis_answer& a) {
  const reading<page> got = a.reply == nullptr ? fault::silent : replies::list(*a.reply);
  io::held_mutex hold(mutex_);
  if (over_) return;
  if (got) {
    add(i, *got);
    if (got->next != "0") {
      hold.unlock();
      return ask(i, got->next);
    }
    complete_.add(i);
    if (complete_.size() == cluster_->majority()) needed_ = clock::now() - began_;
  } else {
    troubles_.note(*cluster_, i, got.why(), a);
  }
  pending_.remove(i);
  const bool last = pending_.empty() || (waited_ && !is_in_doubt());
  if (!last && complete_.size() == cluster_->majority() && timer_ == 0) hurry(grace_min);
  hold.unlock();
  if (last) end();
}

void listing::hurry(duration least) {
  const time_point now = clock::now();
  timer_ = cluster_->loop().at(now + std::max(least, now - began_),
                               [self = shared_from_this()] { self->late(); });
}

/// A node that is only slow is no reason to show a lock that no majority has.
void listing::late() {
  {
    const io::held_mutex hold(mutex_);
    if (over_) return;
    if (!std::exchange(waited_, true) && is_in_doubt()) return hurry(grace_in_doubt);
  }
  end();
}

/// No majority has it, and with those that are not looked through one may.
bool listing::is_doubtful(const std::map<std::string, found_lock>& of_name) const {
  const std::size_t enough = cluster_->majority();
  const auto has_it = [&](const auto& v) { return v.second.on.size() >= enough; };
  if (std::ranges::any_of(of_name, has_it)) return false;
  return std::ranges::any_of(of_name, [&, pending = pending_](const auto& v) {
    return (v.second.on | pending).size() >= enough;
  });
}

bool listing::is_in_doubt() const {
  return std::ranges::any_of(locks_, [this](const auto& l) {
    mutex_.held_by_caller();
    return is_doubtful(l.second);
  });
}

void listing::end() {
  std::uint64_t timer{};
  {
    const io::held_mutex hold(mutex_);
    if (std::exchange(over_, true)) return;
    timer = timer_;
  }
  cluster_->loop().cancel(timer);
  done_(put_together());
}

namespace {

/// Whether no node that answered has one, in a store that needs them.
bool keeps_no_record(const cluster& c) {
  for (node_index i = 0; i < c.size(); ++i) {
    if (c.view_of(i).facts.record) return false;
  }
  return c.set().tokens;
}

}  // namespace

/// Sessions and locks that were found are of no use while more could not be seen.
core::listing listing::incomplete(const result<void>& verdict) const {
  core::listing none;
  troubles_.explain(none, *cluster_, complete_.size(), "could be looked through", verdict);
  return none;
}

/// What there may be that is not in it, for people.
std::string listing::gaps(const result<void>& verdict) const {
  if (verdict) return withheld_;
  return verdict.error().message() + (withheld_.empty() ? "" : "; ") + withheld_;
}

void listing::add(node_index i, const page& p) {
  if (withheld_.empty() && !p.withheld.empty()) {
    withheld_ = cluster_->addresses()[i] + " does not let this user read " +
                lock_name(p.withheld).printable() +
                ", and perhaps more (allow what may be a lock by a ~PATTERN: " + page_about_rights +
                ")";
  }
  for (const auto& s : p.sessions) {
    const auto id = session_id::parse(s.id);
    if (!id) continue;
    add_record(sessions_, *id, s.fields);
  }
  for (const auto& l : p.locks) {
    // A key of another program, which no acquire here can ask for.
    if (!lock_name(l.name).check()) continue;
    found_lock& f = locks_[l.name][l.value];
    f.on.add(i);
    if (l.counter != 0) ++f.counters[l.counter];
  }
}

/// Each node that counted for the grant has the token; one that was late, or has got the lock back,
/// may have another counter, and then mostly a larger one.
token listing::token_of(const found_lock& l) {
  token most{};
  std::size_t nodes = 0;
  for (const auto& [counter, on] : l.counters) {
    if (on < nodes) continue;
    most = token{counter};
    nodes = on;
  }
  return most;
}

core::listing listing::put_together() {
  const auto verdict = cluster_->verdict();
  // A wrong list of nodes hides no lock where no node has a record: nothing was granted there.
  const bool blank =
      !verdict && (verdict.error() == errc::not_initialised ||
                   (verdict.error() == errc::invalid_argument && keeps_no_record(*cluster_)));
  const io::held_mutex hold(mutex_);
  if (complete_.size() < cluster_->majority() || blank) return incomplete(verdict);
  core::listing all;
  all.what = status::ok;
  all.text = gaps(verdict);
  shown_tokens::by_value tokens;
  std::uint64_t seen = core::fnv1a_basis;
  const auto mix = [&seen](const std::string& text) { seen = core::fnv1a(text + "\n", seen); };
  // May have what the others have.
  const node_set unseen = node_set::all(cluster_->size()) - complete_;
  for (const auto& [name, values] : locks_) {
    const auto most =
        std::ranges::max_element(values, {}, [](const auto& v) { return v.second.on.size(); });
    const auto& [value, found] = *most;
    if ((found.on | unseen).size() < cluster_->majority()) continue;
    const session_id owner = owner_of(value);
    const bool of_session = names_session(value);
    core::entry e;
    // The counter of a name outlives its locks; a value without a session was given no token.
    if (of_session) tokens[value] = e.order = shown_->of(value, token_of(found));
    e.owner = owner;
    e.inc = 1;
    all.locks.push_back({lock_name(name), {e}});
    mix(name + "=" + value + " " + std::to_string(e.order.value));
    if (sessions_.contains(owner)) continue;
    core::session_record unknown;
    unknown.id = owner;
    unknown.owner.program =
        of_session ? "(its session's record is gone)" : "(another Redlock client, or tokens=off)";
    sessions_[owner] = unknown;
  }
  for (const auto& [id, record] : sessions_) {
    all.sessions.push_back(record);
    // What one picture has of it another may lack, since none is of one moment.
    mix(id.str() + (record.at.denied ? "-" : "+") + record.owner.program + "\n" +
        record.owner.label);
  }
  shown_->replace(std::move(tokens));
  all.revision = seen;
  all.needed = needed_;
  return all;
}

}  // namespace holdfast::engines::redlock
