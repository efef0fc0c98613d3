#include "engines/redlock/cluster.hpp"

#include "core/assert.hpp"
#include "engines/redlock/inspection.hpp"
#include "engines/redlock/other_list.hpp"
#include "engines/redlock/replies.hpp"
#include "io/file/state_directory.hpp"
#include "io/redis/redis_facts.hpp"
#include "io/thread/background.hpp"
#include "io/thread/latch.hpp"
#include "io/thread/random.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using namespace std::chrono_literals;
using core::redlock::admission;
using core::redlock::for_each;

/// How long who ends waits for the notes to be written, which the next program goes by.
constexpr duration notes_limit = 2s;

/// After the first deadline that passed: two node timeouts from the first unanswered command. Until
/// then each lock is asked for in vain there, and its majority has one node less to choose from.
constexpr int silent_timeouts = 1;

/// After this long without any answer, behind the first that is late, a connection is made anew: a
/// flow that is lost without a word on a majority must not cost leases of some seconds. A node that
/// is only slow keeps its connection: one that is not asked costs nobody anything.
constexpr duration silence_least = 2s;
constexpr duration silence_most = 10s;

std::vector<std::string> texts_of(const std::vector<io::node_address>& nodes) {
  std::vector<std::string> texts;
  for (const auto& n : nodes) texts.push_back(n.text());
  return texts;
}

admission::config admission_config(const settings& s) {
  return {.nodes = s.nodes.size(),
          .tokens = s.tokens,
          .assume_fresh = s.assume_fresh,
          .max_ttl = s.max_ttl,
          .timeout = s.timeout_for(s.max_ttl),
          .config_hash = s.config_hash,
          .difference =
              [nodes = s.nodes, database = s.login.database](const std::string& hash) {
                return difference_of_list(hash, nodes, database);
              },
          .seed = io::random_bits()};
}

io::life_notes_file file_for(const settings& s) {
  const auto directory = io::notes_directory();
  return {directory ? *directory : std::string(), s.identity};
}

/// Gives the one answer of one command to a function.
class one_answer final : public io::redis_receiver {
 public:
  explicit one_answer(cluster::answer then) : then_(std::move(then)) {}
  void answered(std::uint64_t, const io::redis_answer& a) override { then_(a); }

 private:
  cluster::answer then_;
};

}  // namespace

core::status status_of(const error& verdict) noexcept {
  switch (verdict.code()) {
    case errc::invalid_argument:
      return core::status::invalid;
    case errc::not_initialised:
      return core::status::not_initialised;
    case errc::damaged:
      return core::status::damaged;
    default:
      return core::status::unavailable;
  }
}

core::reply reply_of(const error& verdict) {
  return {.what = status_of(verdict),
          .text = verdict.message(),
          .needs_operator = verdict.needs_operator()};
}

/// Passes a connection's events on while the cluster lives.
class cluster::link final : public io::redis_listener {
 public:
  link(std::weak_ptr<cluster> of, node_index i) : of_(std::move(of)), index_(i) {}

  result<void> check(const io::redis_facts& facts) override {
    const auto c = of_.lock();
    // Counted before anything can be sent on it.
    if (c) c->members_[index_]->number.fetch_add(1);
    return io::check_redis(facts, "redlock");
  }
  void up(const io::redis_facts& facts) override {
    if (const auto c = of_.lock()) c->went_up(index_, facts);
  }
  void down(const error&) override {
    if (const auto c = of_.lock()) c->went_down(index_);
  }
  void answers_begin() override {
    if (const auto c = of_.lock()) c->stages_.begin();
  }
  void answers_end() override {
    if (const auto c = of_.lock()) c->stages_.end();
  }
  void pushed(const wire::reply& r) override {
    const auto c = of_.lock();
    const auto n = replies::freed(r);
    if (c && n) c->for_listeners([&](link_listener& l) { l.heard(index_, *n); });
  }

 private:
  const std::weak_ptr<cluster> of_;
  const node_index index_;
};

cluster::cluster(settings s, std::shared_ptr<io::loop> l)
    : settings_(std::move(s)),
      loop_(std::move(l)),
      addresses_(texts_of(settings_.nodes)),
      stages_(*loop_),
      timer_(loop_),
      ballots_(std::make_shared<const ballots>()),
      admission_(admission_config(settings_), file_for(settings_).read()) {}

cluster::~cluster() = default;

void cluster::begin_notes() {
  using core::redlock::life_notes;
  const io::held_mutex hold(mutex_);
  notes_ = std::make_shared<io::life_notes_writer>(
      file_for(settings_), admission_.notes(), loop_,
      [self = weak_from_this()](const life_notes& asked, const life_notes& there) {
        const auto c = self.lock();
        if (c) c->advance([&](admission& a) { return a.kept(asked, there, clock::now()); });
      });
  admission_.recall(notes_->seen_before());
}

void cluster::start() {
  begin_notes();
  for (node_index i = 0; i < size(); ++i) {
    members_.push_back(std::make_unique<member>());
    members_[i]->watcher = std::make_shared<link>(weak_from_this(), i);
  }
  // On the loop's thread: there no connection comes up before all of them are in their places.
  const auto made = std::make_shared<io::latch>();
  loop_->post([this, made] {
    for (node_index i = 0; i < size(); ++i) {
      io::redis_options options;
      options.address = settings_.nodes[i];
      options.login = settings_.login;
      options.tls = settings_.tls;
      const duration timeout = settings_.timeout_for(settings_.max_ttl);
      options.silence_max = std::clamp<duration>(2 * timeout, silence_least, silence_most);
      members_[i]->connection = io::redis_connection::start(loop_, options, members_[i]->watcher);
    }
    made->open();
  });
  made->wait();
  poll_clocks();
}

void cluster::close(duration limit) {
  if (!io::on_library_thread() && !loop_->over()) {
    const duration patience = std::max(limit, inquiry_limit);
    // Who would leave sooner than a slow node answers would leave a rejoin to the next, and that
    // too.
    await_idle(clock::now() + patience);
    await_sent(clock::now() + patience);
  }
  const time_point end = clock::now() + limit;
  notes_->wait(notes_limit);
  {
    const io::held_mutex hold(mutex_);
    closed_ = true;
  }
  for (const auto& m : members_) {
    m->connection->close(std::max(duration::zero(), end - clock::now()));
  }
  const io::held_mutex hold(mutex_);
  const auto there = std::ranges::count_if(listeners_, [](const auto& l) { return !l.expired(); });
  // One is `waiters`; others are releases that are owed. At the program's end
  // nothing that is posted runs any more, and it would keep what it captures.
  if (there < 2 || loop_->over()) return;
  loop_->post(
      [self = shared_from_this()] { self->for_listeners([](link_listener& l) { l.closed(); }); });
}

std::shared_ptr<const ballots> cluster::now_voting() const {
  const io::held_mutex hold(ballots_mutex_);
  return ballots_;
}

void cluster::missed(node_index i, time_point at) noexcept {
  member& m = *members_[i];
  const std::int64_t now = at.time_since_epoch().count();
  std::int64_t since = heard;
  m.silent_since.compare_exchange_strong(since, now);
  m.missed_last.store(now, std::memory_order_relaxed);
}

node_set cluster::connected() const noexcept {
  node_set all;
  for (node_index i = 0; i < size(); ++i) {
    if (is_connected(i)) all.add(i);
  }
  return all;
}

bool cluster::majority_is_connected() const noexcept {
  const auto up =
      std::ranges::count_if(members_, [](const auto& m) { return m->connection->is_up(); });
  return static_cast<std::size_t>(up) >= majority();
}

bool cluster::majority_answers() const noexcept {
  const auto answers = std::ranges::count_if(members_, [](const auto& m) {
    return m->connection->is_up() && m->silent_since.load(std::memory_order_relaxed) == heard;
  });
  return static_cast<std::size_t>(answers) >= majority();
}

node_set cluster::worth_asking(node_set voters, duration timeout) const noexcept {
  node_set rest = voters;
  for_each(voters, [&](node_index i) {
    const member& m = *members_[i];
    const std::int64_t since = m.silent_since.load(std::memory_order_relaxed);
    if (since == heard) return;
    const duration silent{m.missed_last.load(std::memory_order_relaxed) - since};
    if (silent >= timeout * silent_timeouts) rest.remove(i);
  });
  return rest.size() >= majority() ? rest : voters;
}

void cluster::saw_token(std::uint64_t t) noexcept {
  std::uint64_t was = newest_token_.load();
  while (was < t && !newest_token_.compare_exchange_weak(was, t)) {
  }
}

std::uint64_t cluster::connection_of(node_index i) const noexcept {
  const member& m = *members_[i];
  return m.connection->is_up() ? m.number.load() : no_connection;
}

bool cluster::may_subscribe(node_index i) const {
  const io::held_mutex hold(mutex_);
  const auto& server = members_[i]->server;
  return server && server->protocol == 3;
}

result<std::uint64_t> cluster::send(node_index i, const io::redis_connection::command& c) {
  member& m = *members_[i];
  const std::uint64_t before = m.number.load();
  if (auto sent = m.connection->send(c); !sent) return sent.error();
  return m.number.load() == before ? before : no_connection;
}

void cluster::ask(node_index i, std::string_view bytes, time_point deadline, answer then, kind of) {
  answer first = [self = weak_from_this(), i, again = std::string(bytes), deadline, then, of,
                  connection = connection_of(i)](const io::redis_answer& a) {
    const auto c =
        a.reply != nullptr && replies::is_missing_script(*a.reply) ? self.lock() : nullptr;
    // Behind another connection there may be another process.
    if (!c || connection != c->connection_of(i)) return then(a);
    c->load_again(i);
    c->put(i, again, deadline, then, of);
  };
  put(i, bytes, deadline, std::move(first), of);
}

void cluster::put(node_index i, std::string_view bytes, time_point deadline, answer then, kind of) {
  io::redis_connection::command c;
  c.bytes = bytes;
  c.deadline = deadline;
  c.receiver = std::make_shared<one_answer>(then);
  c.subscribes = of == kind::subscription || of == kind::unsubscription;
  c.may_fill = of == kind::upkeep || of == kind::unsubscription;
  const auto sent = members_[i]->connection->send(c);
  if (sent) return;
  io::redis_answer none;
  none.what = io::redis_answer::outcome::not_sent;
  none.why = &sent.error();
  none.at = clock::now();
  then(none);
}

// ---- connections that come and go ----

void cluster::went_up(node_index i, const io::redis_facts& facts) {
  answered(i);
  {
    const io::held_mutex hold(mutex_);
    members_[i]->server = facts;
    members_[i]->refused.heeded = {};
    members_[i]->refused.load.clear();
    members_[i]->refused.look.clear();
    members_[i]->informed = true;
    members_[i]->asked = clock::now();
    for (auto& refuses : members_[i]->refuses) refuses = false;
  }
  // The handshake has just read INFO.
  load_scripts(i);
  std::make_shared<inspection>(*this, i, occasion::needed)->ask_config(*this);
  for_listeners([i](link_listener& l) { l.connected(i); });
}

void cluster::went_down(node_index i) {
  {
    const io::held_mutex hold(mutex_);
    members_[i]->judged = true;
    members_[i]->asked = {};
  }
  advance([i](admission& a) { return a.disconnected(i, clock::now()); });
  for_listeners([i](link_listener& l) { l.disconnected(i); });
}

void cluster::doubted(node_index i) {
  const auto known = now_voting();
  // A thousand answers may doubt it at once; it is looked at once.
  if (!known->voters.has(i) && !known->keepers.has(i)) return;
  advance([i](admission& a) { return a.doubted(i, clock::now()); });
}

bool cluster::on_time(node_index i, core::redlock::server_time at, time_point sent,
                      time_point received) {
  step s;
  {
    const io::held_mutex hold(mutex_);
    s = admission_.on_time(i, at, sent, received);
    const bool asks = !s.seals.empty() || !s.writes.empty() || !s.look.empty() ||
                      !s.reconnect.empty() || s.wake != time_point::max();
    if (!asks && admission_.voters().has(i) == now_voting()->voters.has(i)) {
      return admission_.voters().has(i);
    }
  }
  advance([&s](admission&) { return std::move(s); });
  return now_voting()->voters.has(i);
}

// ---- the admission machine ----

void cluster::advance(const std::function<step(admission&)>& event) {
  step s;
  {
    const io::held_mutex hold(mutex_);
    s = event(admission_);
    refresh();
    notes_->keep(admission_.notes());
  }
  carry_out(std::move(s));
  // Whoever hears of it may call anything, and the caller here may hold a mutex.
  loop_->post([self = weak_from_this()] {
    if (const auto c = self.lock()) c->tell_ready(clock::now());
  });
}

void cluster::carry_out(step s) {
  for (const auto& what : s.seals) send_seal(what);
  for (const auto& what : s.writes) send_write(what);
  for_each(s.look, [this](node_index i) {
    if (!is_connected(i)) return;
    {
      const io::held_mutex hold(mutex_);
      members_[i]->judged = false;
      members_[i]->asked = clock::now();
    }
    inspect(i, occasion::needed);
  });
  for_each(s.reconnect, [this](node_index i) { reconnect(i); });
  timer_.no_later_than(s.wake, *this, &cluster::tick);
}

void cluster::inspect_again(node_index i) {
  {
    const io::held_mutex hold(mutex_);
    members_[i]->judged = false;
    members_[i]->asked = clock::now();
  }
  loop_->post([self = weak_from_this(), i] {
    const auto c = self.lock();
    if (c && c->is_connected(i)) c->inspect(i, occasion::needed);
  });
}

void cluster::refresh() {
  auto fresh = std::make_shared<ballots>();
  fresh->voters = admission_.voters();
  fresh->epoch = admission_.epoch();
  fresh->keepers = admission_.keepers();
  for (node_index i = 0; i < size(); ++i) {
    fresh->nonces[i] = admission_.ballot_of(i).nonce;
    fresh->connections[i] = members_[i]->facts_of;
  }
  // Scripts compare the nonce, and a write is sent only where the facts came from.
  for_each(fresh->keepers, [&](node_index i) {
    HOLDFAST_ASSERT(fresh->connections[i] != no_connection);
    HOLDFAST_ASSERT(!settings_.tokens || !fresh->nonces[i].empty());
  });
  const io::held_mutex hold(ballots_mutex_);
  ballots_ = std::move(fresh);
}

void cluster::tick() {
  advance([](admission& a) { return a.tick(clock::now()); });
}

void cluster::listen(std::weak_ptr<link_listener> who) {
  const io::held_mutex hold(mutex_);
  // Those that are gone are removed together, when they may be most of all.
  if (listeners_.size() >= sweep_at_) {
    std::erase_if(listeners_, [](const auto& l) { return l.expired(); });
    sweep_at_ = std::max<std::size_t>(16, 2 * listeners_.size());
  }
  listeners_.push_back(std::move(who));
}

void cluster::for_listeners(const std::function<void(link_listener&)>& f) {
  std::vector<std::weak_ptr<link_listener>> all;
  {
    const io::held_mutex hold(mutex_);
    all = listeners_;
  }
  for (const auto& weak : all) {
    if (const auto l = weak.lock()) f(*l);
  }
}

}  // namespace holdfast::engines::redlock
