#pragma once

#include "core/engine.hpp"
#include "engines/redis/admission.hpp"
#include "engines/redis/knowledge.hpp"
#include "engines/redis/mailbox.hpp"
#include "engines/redis/settings.hpp"
#include "io/file/life_notes_writer.hpp"
#include "io/redis/redis_connection.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::engines::redis {

/// The one server of a store: its connection, and whether it may be used; see admission.hpp. It is
/// looked at anew after every connect, every few seconds, and when an answer contradicts what is
/// known.
///
/// Thread safety: every function, from any thread.
class master final : public std::enable_shared_from_this<master> {
 public:
  /// A script with its arguments, for this life of the data.
  using maker = std::function<std::string(std::string_view nonce)>;
  /// Exactly one of both: what the server answered, or why it did not.
  struct answer {
    const wire::reply* reply{};  ///< Valid during the call.
    core::reply failure{};
  };
  using on_answer = std::function<void(const answer&)>;
  /// Whether a script counts only when as many replicas have it as the URL asks for. What changes
  /// nothing that anybody was promised need not be copied.
  enum class copies : std::uint8_t { not_awaited, awaited };
  /// What it may use of the room that a connection has for commands without an answer. All: what
  /// keeps or ends a session, so that no crowd of acquires and releases keeps that out.
  enum class room : std::uint8_t { half, all };
  /// A plain command's answer; null when there was none.
  using on_reply = std::function<void(const wire::reply*)>;

  /// `kept` is what this process knew of the server before, and gets to know.
  master(settings s, std::shared_ptr<io::loop> l,
         std::shared_ptr<knowledge> kept = std::make_shared<knowledge>());
  master(const master&) = delete;
  master& operator=(const master&) = delete;
  ~master();

  /// Begins to connect; once, and not on the loop's thread.
  void start();

  /// Sends the script once it is known whether the server may be used, which is waited for a short
  /// while. Never sends it twice, unless the server said that it does not have it.
  void run(maker make, copies its, room in, on_answer then);
  /// Sends a command that needs no life of the data, if it is connected.
  void ask(const std::string& bytes, on_reply then);
  /// Removes what ended sessions left behind, a hundred entries at a time.
  void sweep();

  /// What is said of a command that was not sent, because others had no answer.
  core::reply not_asked() const;

  void saw_token(std::uint64_t t) noexcept {
    known_.saw_token(t);
    kept_->saw_token(t);
  }
  const settings& set() const noexcept { return settings_; }
  const std::string& client() const noexcept { return client_; }
  /// Messages come on the connection of the answers, and no answer is kept back until replicas have
  /// it. On the loop's thread.
  bool hears_in_order() const noexcept {
    return !second_ && settings_.with_replicas != settings::replication::awaited;
  }
  const std::shared_ptr<mailbox>& box() const noexcept { return box_; }
  const std::shared_ptr<io::loop>& shared_loop() const noexcept { return loop_; }
  io::redis_connection::counters count() const { return connection_->count(); }

  /// For people: what the server said of itself, and why it is not used; empty: it is.
  struct picture {
    std::optional<io::redis_facts> server{};
    std::string trouble{};
    bool durable{};
    std::string reload_objection{};  ///< Why what it syncs is not what it reads back, if so.
    std::size_t replicas{};
    duration max_ttl{};
  };
  /// The same without waiting; empty: it is used.
  std::string trouble() const;
  /// Waits for a judgement, up to the time that operations wait.
  picture look();

  /// Gives what is queued until `limit` to be sent and answered, and ends the connection.
  void close(duration limit);

 private:
  class link;
  class listener;
  struct inquiry;
  struct pending {
    time_point limit{};
    std::function<void()> then{};
  };
  struct job;

  /// Nothing that was judged on the connection before counts on this one.
  void went_up(const io::redis_facts& facts) HOLDFAST_EXCLUDES(mutex_);
  /// Who waits for a judgement gets this one, and waiters of locks look again.
  void went_down(const error& why);
  /// A message that wakes somebody, of either connection.
  void heard(const wire::reply& push);
  /// `prefix`: that of the keys of the one who sent it.
  bool is_this_life(std::string_view prefix);
  /// So that the first of each costs one round trip.
  void load_scripts();
  void subscribe();
  void listen_apart();
  /// Asks all that the judgement needs, in one flight. Nothing while it is not connected.
  void inspect();
  /// The last answer of an inquiry has come.
  void inspected(const inquiry& q) HOLDFAST_EXCLUDES(mutex_);
  void conclude(admission::verdict v);
  /// Nothing is granted yet; the next look is when the wait is over, or sooner.
  void wait_out(const admission::wait& w);
  /// The record is compared and written on the server, and then read anew.
  void send_write(const admission::write& w);
  void clean(const std::string& nonce);
  /// Why the server cannot be used, whatever its record says. Nothing: it may be.
  std::optional<error> unfit(const inquiry& q) const;
  static bool is_durable(const inquiry& q);
  /// The judgement; an empty nonce: it is not used. Has all go on who waited for it.
  void settle(std::string nonce, core::reply why) HOLDFAST_EXCLUDES(mutex_);
  /// One look is due at a time: the one before is dropped.
  void inspect_later(duration pause) HOLDFAST_EXCLUDES(mutex_);
  /// Here and now if there is a judgement, else on the loop, in time also without one.
  void when_judged(std::function<void()> then) HOLDFAST_EXCLUDES(mutex_);
  /// `all`: there is a judgement. Else those whose time is over.
  void tell_waiters(bool all) HOLDFAST_EXCLUDES(mutex_);
  /// In the life that is known, or with the reason why there is none.
  void send(const std::shared_ptr<job>& j) HOLDFAST_EXCLUDES(mutex_);
  void await_replicas(const std::shared_ptr<job>& j);
  /// Gives the outcome of a script that replicas are to have; `have`: how many say so.
  void copied(const job& j, std::int64_t have) const;
  void finish(const std::shared_ptr<job>& j, const io::redis_answer& a) HOLDFAST_EXCLUDES(mutex_);
  /// As connects_ counts them.
  bool is_connection(std::uint64_t number) const;
  /// `unknown` if it may have been done.
  core::reply no_answer(const io::redis_answer& a) const;
  static core::status status_of(errc code) noexcept;

  const settings settings_;
  const std::shared_ptr<io::loop> loop_;
  const std::string client_;
  const std::shared_ptr<mailbox> box_;
  std::shared_ptr<link> link_;
  std::shared_ptr<listener> listener_;
  std::unique_ptr<io::redis_connection> connection_;
  std::unique_ptr<io::redis_connection> second_;  ///< RESP2 only: a subscriber can ask nothing.
  const std::shared_ptr<knowledge> kept_;
  knowledge known_;  ///< Of kept_ when this began, for another one may add to that; and of its own.
  std::atomic<bool> sweeping_{};

  // The loop's thread only.
  admission admission_;
  std::shared_ptr<io::life_notes_writer> notes_;
  time_point notes_until_{};  ///< Until then it is waited for what becomes of the notes.
  int writes_in_a_row_{};
  bool cleaning_{};

  mutable io::mutex mutex_;  // Never held while anything is called.
  std::optional<io::redis_facts> server_ HOLDFAST_GUARDED_BY(mutex_){};
  /// Names the connection that an inquiry was made on.
  std::uint64_t connects_ HOLDFAST_GUARDED_BY(mutex_){};
  bool judged_ HOLDFAST_GUARDED_BY(mutex_){};
  bool closed_ HOLDFAST_GUARDED_BY(mutex_){};
  bool durable_ HOLDFAST_GUARDED_BY(mutex_){};
  std::string reload_objection_ HOLDFAST_GUARDED_BY(mutex_){};
  std::size_t replicas_ HOLDFAST_GUARDED_BY(mutex_){};
  duration max_ttl_ HOLDFAST_GUARDED_BY(mutex_){};
  /// Empty: it may not be used, and why_ says why.
  std::string nonce_ HOLDFAST_GUARDED_BY(mutex_){};
  core::reply why_ HOLDFAST_GUARDED_BY(mutex_){};
  std::uint64_t timer_ HOLDFAST_GUARDED_BY(mutex_){};
  std::vector<pending> waiters_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace holdfast::engines::redis
