#include "engines/zookeeper/ensemble.hpp"

#include "core/assert.hpp"
#include "engines/zookeeper/answer_codes.hpp"
#include "io/thread/random.hpp"

#include <netdb.h>

#include <algorithm>
#include <utility>

/// Which server is connected to, what waits while none is ready, and when one is given up. The
/// library finds another server by itself as long as it has addresses; a silence it does not notice
/// soon enough, so that is watched here.

namespace holdfast::engines::zookeeper {

namespace {

using namespace std::chrono_literals;
using core::status;

constexpr duration pause_between_tries = 20ms;
constexpr duration pause_after_ended = 100ms;
constexpr duration names_are_old_after = 10s;

/// A follower of ZooKeeper 3.8.0 was seen to fall silent with nothing left to send or to read. One
/// more request costs little, and may wake it.
duration nudge_after(const settings& set) {
  return std::min<duration>(set.node_timeout / 8, 200ms);
}

std::string numeric(const std::vector<io::socket_address>& all) {
  std::string text;
  for (const auto& a : all) {
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    if (::getnameinfo(reinterpret_cast<const sockaddr*>(&a.bytes), a.size, host, sizeof host, port,
                      sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
      continue;
    }
    text.append(text.empty() ? "" : ",").append(host).append(":").append(port);
  }
  return text;
}

}  // namespace

ensemble::ensemble(settings s, std::shared_ptr<io::loop> l)
    : set_(std::move(s)), login_(set_), where_(set_.root), opening_(where_), loop_(std::move(l)) {}

void ensemble::start() {
  loop_->post([self = shared_from_this()] {
    if (self->closed_) return;
    self->give_connection_up();
    self->resolve();
  });
}

void ensemble::close() {
  loop_->post([self = shared_from_this()] {
    self->closed_ = true;
    if (self->connection_) self->connection_->close();
    for (const auto& b : std::exchange(self->waiting_, {})) b->fail("the store was closed");
  });
}

std::string ensemble::trouble() const {
  if (!refusal_.empty()) return refusal_;
  const std::string names = names_ ? names_->trouble() : std::string();
  if (!connection_) return names.empty() ? "not connected yet" : names;
  std::string text = connection_->trouble();
  if (connection_->connected()) {
    return text.empty() ? "server " + server() + " has not answered yet" : text;
  }
  if (text.empty()) {
    text = server().empty() ? "not connected yet"
                            : server() + " does not answer: it hangs, or is no ZooKeeper";
  }
  return names.empty() ? text : text + "; " + names;
}

std::string ensemble::trouble_text() const {
  const io::held_mutex hold(mutex_);
  return told_trouble_;
}

void ensemble::tell_trouble() {
  const bool fine = ready_ && connection_->connected();
  std::string text = fine ? batch_trouble_ : "no ZooKeeper server is ready: " + trouble();
  const io::held_mutex hold(mutex_);
  told_trouble_ = std::move(text);
}

// A server may be connected and yet refuse all that is asked.
void ensemble::tell_batch(const std::string& text) {
  if (batch_trouble_ == text) return;
  batch_trouble_ = text;
  tell_trouble();
}

// ---- connecting ----

// The library would look names up by itself, and block the loop for as long as DNS likes.
void ensemble::resolve() {
  if (!names_) {
    names_ =
        std::make_shared<name_book>(set_.servers, loop_, [weak = weak_from_this()](bool complete) {
          const auto self = weak.lock();
          if (self && !self->closed_) self->found_names(complete);
        });
  }
  names_->look_up();
}

void ensemble::found_names(bool complete) {
  tell_trouble();
  auto found = names_->addresses();
  const auto servers = numeric(found);
  // One that tried on meanwhile is better than another that begins anew.
  const bool is_new = complete || servers != in_use_;
  if (live_ && (connection_->connected() || !is_new)) return;
  if (found.empty() && names_->waits()) return reconnect_later();
  in_use_ = servers;
  // Not all clients should lean on the same server.
  if (!found.empty()) {
    const auto first = static_cast<std::ptrdiff_t>(io::random_bits() % found.size());
    std::rotate(found.begin(), found.begin() + first, found.end());
  }
  connect(numeric(found));
}

void ensemble::connect(const std::string& servers) {
  if (servers.empty()) {
    none_there();
    return reconnect_later();
  }
  give_connection_up();
  connection_ = std::make_shared<io::zookeeper_connection>(
      loop_,
      io::zookeeper_connection::options{
          .servers = servers, .login = login_.take(), .timeout = set_.node_timeout},
      weak_from_this());
  live_ = true;
  logs_in_again_ = false;
  lost_at_ = clock::now();
  connection_->start();
}

// Else what is under way on it would never be answered, and its watches would count as set.
void ensemble::give_connection_up() {
  if (!std::exchange(live_, false)) return;
  // The server is not told, for who has a session would wait for that.
  connection_->hang_up();
  connection_->close();
  if (const auto l = listener_.lock()) l->watches_lost();
}

// By another connection, for each keeps its login; but later: this one may be telling its answer.
void ensemble::log_in_again() {
  if (std::exchange(logs_in_again_, true)) return;
  loop_->post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->closed_ && self->logs_in_again_) self->ended();
  });
}

void ensemble::reconnect_later() {
  if (closed_ || std::exchange(reconnects_, true)) return;
  loop_->at(clock::now() + (connection_ ? pause_after_ended : set_.node_timeout),
            [weak = weak_from_this()] {
              const auto self = weak.lock();
              if (!self || self->closed_) return;
              self->reconnects_ = false;
              self->resolve();
            });
}

void ensemble::connected() {
  was_connected_ = true;
  prepare();
}

void ensemble::none_there() {
  // One whose name is not found out may be there.
  if (!names_->waits()) none_there_at_ = clock::now();
  fail_waiting();
}

void ensemble::disconnected() {
  lost_at_ = clock::now();
  tell_trouble();
  const auto l = listener_.lock();
  // The library goes on with the addresses that it was given.
  const bool is_short = numeric(names_->addresses()) != in_use_;
  if (is_short || (l && l->gives_watches_up())) ended();
}

void ensemble::ended() {
  give_connection_up();
  reconnect_later();
}

void ensemble::node_changed(const std::string& path) {
  if (const auto l = listener_.lock()) l->changed(path);
}

// An ensemble may have moved as a whole: the library never looks a name up a second time.
void ensemble::renew_when_names_may_have_changed() {
  if (!connection_ || connection_->connected() || clock::now() < lost_at_ + names_are_old_after) {
    return;
  }
  lost_at_ = clock::now();
  // The connection tries on: a resolver that hangs must not keep it from servers that are back.
  resolve();
}

// ---- the store's own nodes ----

void ensemble::prepare() {
  if (ready_) return drain();
  if (std::exchange(preparing_, true)) return;
  opening_ = store_opening(where_);
  ask_for_store(opening_.look());
}

void ensemble::ask_for_store(std::vector<zoo_request> requests) {
  send_now(std::make_shared<batch>(
      std::move(requests), repeat::never,
      batch::times{.asked = time_point::min(), .deadline = deadline_of(repeat::never)},
      [self = shared_from_this()](const batch_result& l) { self->took_store(l); }));
}

void ensemble::took_store(const batch_result& l) {
  preparing_ = false;
  if (l.what != status::ok) {
    return refuse_unless_lost({status::unavailable, l.text, l.needs_operator});
  }
  auto next = opening_.took(l.replies);
  switch (next.what) {
    case store_opening::step::outcome::ready:
      ready_ = true;
      return drain();
    case store_opening::step::outcome::asks:
      preparing_ = true;
      return ask_for_store(std::move(next.requests));
    case store_opening::step::outcome::refused:
      return refuse_all({next.status, std::move(next.why)});
  }
}

// A connection that is lost answers first and says so then. The next one looks for the store again,
// and whoever waits may wait for that.
void ensemble::refuse_unless_lost(core::reply why) {
  loop_->post([weak = weak_from_this(), why = std::move(why)] {
    const auto self = weak.lock();
    if (self && !self->preparing_ && self->connection_->connected()) self->refuse_all(why);
  });
}

// Until somebody asks again: an operator may have put it right by then.
void ensemble::refuse_all(const core::reply& why) {
  refusal_ = why.text;
  tell_trouble();
  for (const auto& b : std::exchange(waiting_, {})) b->fail(why);
}

// ---- batches ----

time_point ensemble::deadline_of(repeat how) const {
  return clock::now() + (how == repeat::always ? 2 : 1) * set_.node_timeout;
}

void ensemble::send(std::vector<zoo_request> requests, repeat how, on_batch done) {
  // The servers may have been tried before the first question came.
  const auto asked = std::exchange(was_asked_, true) ? clock::now() : time_point::min();
  const auto b = std::make_shared<batch>(std::move(requests), how,
                                         batch::times{.asked = asked, .deadline = deadline_of(how)},
                                         std::move(done));
  if (ready_ && connection_->connected()) return send_now(b);
  wait(b);
  if (connection_ && connection_->connected()) prepare();
}

void ensemble::send_now(const batch_ptr& b) {
  ++batches_;
  b->begin_try(clock::now());
  under_way_.push_back(b);
  watch_the_time();
  // An answer, which would drop the connection, cannot come before the loop has its turn.
  const auto to = connection_;
  to->hold();
  for (std::size_t i = 0; i < b->requests().size(); ++i) {
    to->send(b->requests()[i], [self = shared_from_this(), b, i](zoo_reply r) {
      self->last_answer_ = clock::now();
      if (b->took(i, std::move(r))) self->answered(b);
    });
  }
  to->let_go();
}

void ensemble::answered(const batch_ptr& b) {
  // Found at once: they are answered in the order in which they were sent.
  const auto place = std::ranges::find(under_way_, b);
  HOLDFAST_ASSERT(place != under_way_.end());
  under_way_.erase(place);
  const auto* bad = b->judge();
  if (bad == nullptr) {
    tell_batch({});
    return b->succeed();
  }
  if (bad->code == zoo_code::not_allowed && login_.was_replaced()) log_in_again();
  const bool may_pass = passes(bad->code) || logs_in_again_;
  const bool in_time = clock::now() + pause_between_tries < b->when().deadline;
  if (!closed_ && ready_ && b->may_repeat() && may_pass && in_time) return wait(b);
  std::string text = refusal_text(bad->code, set_);
  if (passes(bad->code) && !trouble().empty()) text += "; " + trouble();
  tell_batch(text);
  b->fail(std::move(text), bad->code == zoo_code::not_allowed && !logs_in_again_);
}

// Answers come in order: the oldest batch is the one that waits for longest. A long one is not
// given up while its answers come.
void ensemble::watch_the_time() {
  if (under_way_.empty() || std::exchange(watches_the_time_, true)) return;
  loop_->at(clock::now() + nudge_after(set_), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->watches_the_time_ = false;
    if (!self->under_way_.empty()) self->look_at_silence();
    self->watch_the_time();
  });
}

time_point ensemble::silent_since() const {
  HOLDFAST_ASSERT(!under_way_.empty());
  return std::max(under_way_.front()->sent(), last_answer_);
}

void ensemble::look_at_silence() {
  const auto silence = clock::now() - silent_since();
  if (silence >= set_.node_timeout) {
    connection_->hang_up();
    // Until the loss has answered them, the oldest would be as silent at the next look.
    last_answer_ = clock::now();
  } else if (silence >= nudge_after(set_) && !std::exchange(nudged_, true)) {
    connection_->send(get(where_.root()),
                      [self = shared_from_this()](const zoo_reply&) { self->nudged_ = false; });
  }
}

// ---- while no server is ready ----

void ensemble::wait(const batch_ptr& b) {
  waiting_.push_back(b);
  const auto soon = std::min(b->when().deadline, clock::now() + pause_between_tries);
  loop_->at(soon, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->drain();
  });
  const auto fail = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->fail_waiting();
  };
  loop_->at(b->when().deadline, fail);
  if (is_hopeless(*b)) loop_->post(fail);
}

// A wrong URL is told at once. An ensemble that was connected is waited for: it may be restarting.
bool ensemble::is_hopeless(const batch& b) const {
  return !was_connected_ && none_there_at_ && *none_there_at_ >= b.when().asked;
}

void ensemble::drain() {
  if (!ready_ || !connection_->connected()) return;
  refusal_.clear();
  tell_trouble();
  for (const auto& b : std::exchange(waiting_, {})) send_now(b);
}

void ensemble::fail_waiting() {
  tell_trouble();
  renew_when_names_may_have_changed();
  const auto now = clock::now();
  // Gathered first: what they call may send again, and so wait again.
  std::vector<batch_ptr> late;
  std::erase_if(waiting_, [&](const batch_ptr& b) {
    if (b->when().deadline > now && !is_hopeless(*b)) return false;
    late.push_back(b);
    return true;
  });
  for (const auto& b : late) b->fail("no ZooKeeper server is ready: " + trouble());
}

}  // namespace holdfast::engines::zookeeper
