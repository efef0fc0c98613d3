#include "core/hexadecimal.hpp"
#include "engines/redis/commands.hpp"
#include "engines/redis/keys.hpp"
#include "engines/redis/master.hpp"
#include "engines/redis/replies.hpp"
#include "io/file/state_directory.hpp"
#include "io/redis/redis_facts.hpp"
#include "io/redis/redis_reload.hpp"
#include "io/thread/latch.hpp"
#include "io/thread/random.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

/// The judgement: what the server is asked after each connect and every few seconds, in one flight,
/// and what follows from it. `admission` has the rule; all of this is on the loop's thread.

namespace holdfast::engines::redis {

namespace {

using namespace std::chrono_literals;
using core::status;

/// How often the server is looked at while nothing is wrong, and while something is.
constexpr duration look_when_well = 5s;
constexpr duration look_soon = 200ms;
constexpr duration look_later = 1s;
constexpr int writes_most = 8;
/// After this long without any answer, behind the first that is late, the connection is made anew.
constexpr duration silence_least = 1s;
constexpr duration silence_most = 10s;
/// How long who ends waits for the notes to be written, which the next program goes by.
constexpr duration notes_limit = 2s;
/// How long a wait is not reported while the notes are written, and how often that is looked at.
constexpr duration trouble_limit = 500ms;
constexpr duration trouble_pause = 5ms;

/// A page of a listing is one reply; see its bounds in listing.cpp.
constexpr wire::resp_limits reply_limits{.line_bytes = 64 * 1024,
                                         .bulk_bytes = 512 * 1024,
                                         .elements = 1024 * 1024,
                                         .depth = 8,
                                         .message_bytes = 128 * 1024 * 1024,
                                         .unread_bytes = 1024 * 1024};

std::string random_word() { return core::hexadecimal(io::random_bits(), 16); }

io::redis_options options_for(const settings& s) {
  io::redis_options o;
  o.address = s.node;
  o.login = s.login;
  o.tls = s.tls;
  // A flow that is lost without a word must cost no lease, and each WAIT is answered in time.
  o.silence_max = std::clamp<duration>(2 * s.node_timeout, silence_least, silence_most);
  o.reply_limits = reply_limits;
  return o;
}

io::life_notes_file notes_for(const settings& s) {
  const auto directory = io::notes_directory();
  return {directory ? *directory : std::string(), s.identity};
}

admission admission_for(const settings& s, const knowledge& kept) {
  return admission({.max_ttl = s.max_ttl,
                    .max_ttl_given = s.max_ttl_given,
                    .assume_fresh = s.assume_fresh,
                    .was_ready = kept.was_used(),
                    .seen_max_ttl = kept.max_ttl()},
                   notes_for(s).read());
}

}  // namespace

/// Passes the connection's events on while the master lives.
class master::link final : public io::redis_listener {
 public:
  explicit link(std::weak_ptr<master> of) : of_(std::move(of)) {}

  result<void> check(const io::redis_facts& facts) override {
    if (auto fit = io::check_redis(facts, "redis://"); !fit) return fit;
    if (facts.mode != "standalone") {
      return error(errc::unavailable, "the server runs in " + facts.mode +
                                          " mode; redis:// needs one that stands alone");
    }
    if (facts.role != "master") {
      return error(errc::unavailable, "the server is a replica; name its master");
    }
    return {};
  }
  void up(const io::redis_facts& facts) override {
    if (const auto m = of_.lock()) m->went_up(facts);
  }
  void down(const error& why) override {
    if (const auto m = of_.lock()) m->went_down(why);
  }
  void pushed(const wire::reply& r) override {
    if (const auto m = of_.lock()) m->heard(r);
  }

 private:
  const std::weak_ptr<master> of_;
};

/// The same for the connection that only listens.
class master::listener final : public io::redis_listener {
 public:
  explicit listener(std::weak_ptr<master> of) : of_(std::move(of)) {}
  void up(const io::redis_facts&) override {
    if (const auto m = of_.lock()) m->subscribe();
  }
  void pushed(const wire::reply& r) override {
    if (const auto m = of_.lock()) m->heard(r);
  }

 private:
  const std::weak_ptr<master> of_;
};

/// What is asked of the server to judge it, in one flight.
struct master::inquiry {
  std::uint64_t connection{};
  io::redis_facts server{};
  bool synced{};
  io::redis_reload reload{};
  std::optional<std::size_t> replicas{};
  std::optional<store_record> record{};
  std::string refused{};  ///< What look was answered instead.
};

/// A replica may become the master, with this record and not with the newest writes.
bool master::is_durable(const inquiry& q) {
  return q.synced && q.reload.objection().empty() && q.replicas.value_or(0) == 0;
}

master::master(settings s, std::shared_ptr<io::loop> l, std::shared_ptr<knowledge> kept)
    : settings_(std::move(s)),
      loop_(std::move(l)),
      client_(random_word()),
      box_(std::make_shared<mailbox>(loop_)),
      kept_(std::move(kept)),
      admission_(admission_for(settings_, *kept_)),
      why_{status::unavailable, "redis node " + settings_.node.text() + ": not connected yet"} {
  known_.saw_token(kept_->token());
}

master::~master() = default;

void master::start() {
  link_ = std::make_shared<link>(weak_from_this());
  // The record on the server decides, and not what is noted here: nothing waits for that.
  notes_ = std::make_shared<io::life_notes_writer>(
      notes_for(settings_), admission_.notes(), loop_,
      [](const core::redlock::life_notes&, const core::redlock::life_notes&) {});
  admission_.recall(notes_->seen_before());
  // On the loop's thread, so that no event of the connection comes before it can be used.
  const auto begun = std::make_shared<io::latch>();
  loop_->post([this, begun] {
    connection_ = io::redis_connection::start(loop_, options_for(settings_), link_);
    begun->open();
  });
  begun->wait();
}

void master::close(duration limit) {
  {
    const io::held_mutex hold(mutex_);
    closed_ = true;
    loop_->cancel(timer_);
  }
  tell_waiters(true);
  notes_->wait(notes_limit);
  connection_->close(limit);
}

// ---- connections that come and go ----

void master::went_up(const io::redis_facts& facts) {
  {
    const io::held_mutex hold(mutex_);
    server_ = facts;
    ++connects_;
    judged_ = false;
  }
  load_scripts();
  if (facts.protocol == 3) {
    subscribe();
  } else {
    listen_apart();
  }
  inspect();
}

void master::went_down(const error& why) {
  settle({}, {status::unavailable, why.message(), why.needs_operator()});
}

bool master::is_this_life(std::string_view prefix) {
  const io::held_mutex hold(mutex_);
  return !nonce_.empty() && prefix == "holdfast:" + nonce_ + ":";
}

void master::heard(const wire::reply& push) {
  const auto w = replies::woken(push);
  if (!w) return;
  // A connection of its own may end at another server than that of the answers, and what the
  // replicas have not, a failover forgets: then it is a hint.
  box_->ring(w->order, hears_in_order() && is_this_life(w->life));
}

void master::load_scripts() {
  for (const script* s : scripts::all) {
    // One that is missing is found by NOSCRIPT.
    ask(commands::load(*s), [](const wire::reply*) {});
  }
}

/// RESP2: a connection that has subscribed can ask nothing else.
void master::listen_apart() {
  if (second_) return;
  listener_ = std::make_shared<listener>(weak_from_this());
  second_ = io::redis_connection::start(loop_, options_for(settings_), listener_);
}

void master::subscribe() {
  class confirmed final : public io::redis_receiver {
   public:
    explicit confirmed(std::shared_ptr<mailbox> box) : box_(std::move(box)) {}
    // What was said before it listened was not heard.
    void answered(std::uint64_t, const io::redis_answer&) override { box_->ring_all(); }

   private:
    const std::shared_ptr<mailbox> box_;
  };
  const std::string bytes = commands::subscribe(client_);
  io::redis_connection::command c;
  c.bytes = bytes;
  c.deadline = clock::now() + settings_.node_timeout;
  c.receiver = std::make_shared<confirmed>(box_);
  c.subscribes = true;
  // When it fails the connection is lost, and the next one subscribes.
  (void)(second_ ? second_ : connection_)->send(c).has_value();
}

// ---- the judgement ----

void master::inspect() {
  const auto q = std::make_shared<inquiry>();
  bool was_judged{};
  {
    const io::held_mutex hold(mutex_);
    if (!server_) return;
    was_judged = judged_;
    q->server = *server_;
    q->connection = connects_;
  }
  const auto self = shared_from_this();
  // What the handshake read may be over by then: it may have been a replica since.
  const auto take = [q](const wire::reply* r) {
    if (r != nullptr) (void)io::take_later_info(q->server, *r);
  };
  if (was_judged) ask(commands::info(), take);
  ask(commands::persistence(), [q](const wire::reply* r) {
    q->synced = r != nullptr && io::keeps_every_write(q->server, *r);
  });
  // All write the same keys here: whether the default user may, its own commands show.
  const std::string& user = settings_.login.user;
  const bool is_default = user.empty() || user == "default";
  if (!is_default && io::redis_reload::is_in_doubt(q->server)) {
    for (const auto& question : io::redis_reload::questions(store_key)) {
      ask(question, [q](const wire::reply* r) {
        if (r == nullptr) return q->reload.not_answered();
        q->reload.answered(*r);
      });
    }
  }
  ask(commands::role(), [q](const wire::reply* r) {
    if (r != nullptr) q->replicas = replies::replicas(*r);
  });
  ask(commands::look(), [self, q](const wire::reply* r) {
    if (r != nullptr) {
      q->record = replies::look(*r);
      q->refused = replies::error_text(*r);
    }
    self->inspected(*q);
  });
}

std::optional<error> master::unfit(const inquiry& q) const {
  if (q.server.role != "master") {
    return error(errc::unavailable, "the server has become a replica; name its master");
  }
  const auto replicas = q.replicas.value_or(0);
  const std::string attached = std::to_string(replicas);
  const std::string it_has = "it has " + attached + (replicas == 1 ? " replica" : " replicas");
  switch (settings_.with_replicas) {
    case settings::replication::ignored:
      break;
    case settings::replication::refused:
      if (replicas == 0) break;
      return error(errc::unsupported,
                   it_has +
                       ", and a failover forgets what was not copied yet: let every write "
                       "wait for the copies (?replicas=" +
                       attached + ") or accept that (?replicas=ignore)");
    case settings::replication::awaited:
      if (replicas >= settings_.replicas) break;
      return error(errc::unavailable,
                   it_has + ", the URL asks for " + std::to_string(settings_.replicas));
  }
  return std::nullopt;
}

void master::inspected(const inquiry& q) {
  {
    const io::held_mutex hold(mutex_);
    // Answers of a connection that was replaced say nothing of the server behind the next one.
    if (q.connection != connects_ || closed_) return;
    durable_ = is_durable(q);
    reload_objection_ = q.synced ? q.reload.objection() : "";
    replicas_ = q.replicas.value_or(0);
    max_ttl_ = q.record && q.record->whole ? q.record->max_ttl : settings_.max_ttl;
  }
  const std::string node = "redis node " + settings_.node.text() + ": ";
  if (!q.record) {
    settle({}, {status::unavailable,
                node + "its state cannot be read: " + (q.refused.empty() ? "no answer" : q.refused),
                wire::server_error_of(q.refused) == wire::server_error::noperm});
    return inspect_later(look_soon);
  }
  if (const auto why = unfit(q)) {
    settle({}, {status_of(why->code()), node + why->message()});
    return inspect_later(look_later);
  }
  admission::sight s{.run_id = io::life_of(q.server),
                     .database = std::to_string(settings_.login.database),
                     .durable = is_durable(q),
                     .record = *q.record,
                     .known = known_.token(),
                     .fresh = random_word()};
  auto verdict = admission_.judge(s, clock::now());
  kept_->saw_store(admission_.was_ready(), admission_.seen_max_ttl());
  notes_->keep(admission_.notes());
  notes_until_ = clock::now() + trouble_limit;
  conclude(std::move(verdict));
}

void master::conclude(admission::verdict v) {
  const std::string node = "redis node " + settings_.node.text() + ": ";
  if (const auto* w = std::get_if<admission::write>(&v)) {
    if (++writes_in_a_row_ <= writes_most) return send_write(*w);
    settle({}, {status::unavailable, node + "its record changes all the time"});
    writes_in_a_row_ = 0;
    return inspect_later(look_later);
  }
  writes_in_a_row_ = 0;
  if (const auto* r = std::get_if<admission::ready>(&v)) {
    if (r->uncleaned && !std::exchange(cleaning_, true)) clean(r->nonce);
    settle(r->nonce, {});
    return inspect_later(look_when_well);
  }
  if (const auto* w = std::get_if<admission::wait>(&v)) return wait_out(*w);
  const auto& why = std::get<error>(v);
  settle({}, {status_of(why.code()), node + why.message()});
  inspect_later(look_when_well);
}

/// What says that there is a wait also says whether it begins anew for the next program.
void master::wait_out(const admission::wait& w) {
  if (notes_->is_busy() && clock::now() < notes_until_) {
    loop_->at(clock::now() + trouble_pause, [weak = weak_from_this(), w] {
      const auto self = weak.lock();
      if (self && self->connection_->is_up()) self->wait_out(w);
    });
    return;
  }
  const std::string forgets = notes_->trouble();
  settle({}, {status::unavailable, "redis node " + settings_.node.text() + ": " + w.why +
                                       (forgets.empty() ? "" : "; ") + forgets});
  const duration left = w.until - clock::now();
  inspect_later(std::clamp<duration>(left, 1ms, look_later));
}

void master::send_write(const admission::write& w) {
  ask(commands::write(w), [self = shared_from_this()](const wire::reply* r) {
    if (r != nullptr && r->is(wire::reply_kind::integer)) return self->inspect();
    // Refused, say for want of memory or of the right: said as it is, and tried again.
    const std::string why = r != nullptr ? replies::error_text(*r) : "no answer";
    self->settle(
        {}, {status::unavailable,
             "redis node " + self->settings_.node.text() + ": its record cannot be written: " + why,
             wire::server_error_of(why) == wire::server_error::noperm});
    self->inspect_later(look_later);
  });
}

/// Keys of earlier lives are never read; they only take room. One page is under way at a time, and
/// who ends before the last one leaves the rest to the next client.
void master::clean(const std::string& nonce) {
  ask(commands::clean(nonce), [self = shared_from_this(), nonce](const wire::reply* r) {
    if (r != nullptr && r->is(wire::reply_kind::integer) && r->integer == 1) {
      return self->clean(nonce);
    }
    self->cleaning_ = false;
  });
}

void master::settle(std::string nonce, core::reply why) {
  bool another = false;
  {
    const io::held_mutex hold(mutex_);
    another = nonce_ != nonce;
    nonce_ = std::move(nonce);
    why_ = std::move(why);
    judged_ = true;
  }
  tell_waiters(true);
  // Whoever waits learns by looking again whether its entry is still there.
  if (another) box_->ring_all();
}

void master::inspect_later(duration pause) {
  const io::held_mutex hold(mutex_);
  if (closed_) return;
  loop_->cancel(timer_);
  timer_ = loop_->at(clock::now() + pause, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->connection_->is_up()) self->inspect();
  });
}

}  // namespace holdfast::engines::redis
