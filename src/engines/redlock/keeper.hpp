#pragma once

#include "core/engine.hpp"
#include "core/flat_table.hpp"
#include "core/lease.hpp"
#include "core/redlock/renewal.hpp"
#include "engines/redlock/cluster.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/contender.hpp"
#include "engines/redlock/replies.hpp"
#include "engines/redlock/waiters.hpp"
#include "io/net/earliest_timer.hpp"
#include "io/thread/mutex.hpp"
#include "io/thread/notice.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::engines::redlock {

/// One session: its records on the nodes, the locks that it waits for and holds, and their renewal.
///
/// Thread safety: every function, from any thread. Callbacks run on the loop's thread or on that of
/// the caller, never under a mutex.
class keeper final : public contender::listener, public std::enable_shared_from_this<keeper> {
 public:
  keeper(std::shared_ptr<cluster> c, std::shared_ptr<waiters> w, core::session_record draft);

  void open(core::on<core::open_reply> done);
  void beat(std::uint64_t attempt, core::on<core::beat_reply> done) HOLDFAST_EXCLUDES(mutex_);
  void enqueue(const core::enqueue_request& r, core::on<core::queue_view> done)
      HOLDFAST_EXCLUDES(mutex_);
  void leave(const core::leave_request& r, core::on<core::leave_reply> done)
      HOLDFAST_EXCLUDES(mutex_);
  void confirm(std::uint64_t request, core::on<core::queue_view> done);
  /// Gives every key back, also what drop() has left.
  void close(core::on<core::reply> done) HOLDFAST_EXCLUDES(mutex_);
  /// Everything that is kept here, but nothing on the nodes: what is held there ends with its ttl,
  /// or with close(). Whoever waits is answered with `why`.
  void drop(const core::reply& why) HOLDFAST_EXCLUDES(mutex_);
  /// The lock is, or was, in its last extension.
  bool is_used_up(std::uint64_t request) const;

  /// `who` is fired when confirm(request) has something new to say.
  void watch(std::uint64_t request, const std::shared_ptr<io::notice>& who);

 private:
  class batch_receiver;
  class repair_receiver;
  class record_receiver;
  enum class state : std::uint8_t { contending, held, lost, over };
  struct entry {
    std::uint64_t request{};
    std::uint64_t turn{};  ///< Of its contender's ticket.
    std::string name{};
    state is{state::contending};
    std::shared_ptr<contender> taker{};
    core::on<core::queue_view> answer{};  ///< Of the enqueue, until it is given.
    /// over, contending: what confirm says.
    core::reply verdict{.what = core::status::queued};
    bool used_up{};             ///< lost: in its last extension.
    bool unheard{};             ///< It is newer than what was confirmed.
    std::uint64_t hindrance{};  ///< The last one of its contender.
    core::redlock::renewal::handle handle{};
    placed_key key{};  ///< Begins with what a renewal reads, as does the handle before it.
    token granted{};
    std::shared_ptr<core::lease> own{};
    std::shared_ptr<core::lock_listener> listener{};
    std::weak_ptr<io::notice> watched{};
  };
  struct waiting_beat {
    std::uint64_t attempt{};
    time_point since{};
    core::on<core::beat_reply> done{};
  };
  /// The entries by their request.
  class entry_table {
   public:
    entry_table() = default;
    entry_table(const entry_table&) = delete;
    entry_table& operator=(const entry_table&) = delete;
    ~entry_table() { clear(); }
    entry* find(std::uint64_t request) const;
    /// Of a request that has none.
    entry& add(std::uint64_t request);
    void erase(entry& e) noexcept;
    template <class F>
    void for_each(F&& f) {
      all_.for_each(f);
    }
    void clear() noexcept;

   private:
    core::flat_table<entry> all_;
  };
  using jobs = std::vector<std::function<void()>>;
  using renewal = core::redlock::renewal;
  struct opening;

  // ---- keeper.cpp ----
  std::shared_ptr<contender> add_entry(const core::enqueue_request& r,
                                       core::on<core::queue_view> done) HOLDFAST_REQUIRES(mutex_);
  void answered(const contender::ticket& of, core::reply what) HOLDFAST_EXCLUDES(mutex_) override;
  bool held(const contender::ticket& of, round_outcome& r) HOLDFAST_EXCLUDES(mutex_) override;
  void late(const contender::ticket& of, node_index i) HOLDFAST_EXCLUDES(mutex_) override;
  void hindered(const contender::ticket& of, std::uint64_t nth, core::reply by)
      HOLDFAST_EXCLUDES(mutex_) override;
  void changed(const contender::ticket& of, core::reply why) HOLDFAST_EXCLUDES(mutex_) override;
  static core::queue_view view_of(const entry& e);
  std::vector<placed_key> take_all(const core::reply& why,
                                   std::vector<std::shared_ptr<contender>>& takers, jobs& after)
      HOLDFAST_REQUIRES(mutex_);
  placed_key release_of(entry& e) HOLDFAST_REQUIRES(mutex_);
  bool may_find_holder() HOLDFAST_REQUIRES(mutex_);
  void give_back(placed_key key, duration timeout, core::on<core::leave_reply> then)
      HOLDFAST_EXCLUDES(mutex_);
  entry* find(const contender::ticket& of) const noexcept HOLDFAST_REQUIRES(mutex_);
  static void run(jobs& all);

  // ---- keeper_records.cpp ----
  void open_records(time_point limit, node_set before, core::on<core::open_reply> done);
  void give_up(const core::open_reply& why, node_set asked, const core::on<core::open_reply>& done);
  void open_later(const std::shared_ptr<opening>& o);
  void begin(opening& o);
  void ask_for_records(std::shared_ptr<opening> o);
  static bool note_record(opening& o, cluster& c, node_index i, const io::redis_answer& a);
  void end_opening(const std::shared_ptr<opening>& o);
  void not_recorded(opening& o) const;
  std::string record_bytes(node_index i, const ballots& b) const;
  void end_records(std::vector<placed_key> keys, node_set also, core::on<core::reply> done);

  // ---- keeper_renewal.cpp ----
  void unrecorded(node_set where) HOLDFAST_EXCLUDES(mutex_) override;
  void carry_out(renewal::step s, jobs& after) HOLDFAST_REQUIRES(mutex_);
  void send_batch(const renewal::batch& b) HOLDFAST_REQUIRES(mutex_);
  void write_batch(std::string_view nonce, const std::vector<held_key>& locks)
      HOLDFAST_REQUIRES(mutex_);
  void send_repair(const renewal::repair& r, jobs& after) HOLDFAST_REQUIRES(mutex_);
  void reopen(node_index i, bool again, jobs& after) HOLDFAST_REQUIRES(mutex_);
  void recorded(node_index i, const wire::reply* r, bool again) HOLDFAST_EXCLUDES(mutex_);
  void batch_answered(const renewal::batch& b, node_index i, const io::redis_answer& a,
                      time_point sent) HOLDFAST_EXCLUDES(mutex_);
  void repaired(const renewal::repair& what, const wire::reply* r, time_point sent, time_point at)
      HOLDFAST_EXCLUDES(mutex_);
  reading<renewed> read_batch(const renewal::batch& b, const wire::reply& r) const;
  void lose(const renewal::loss& l, const std::string& away, jobs& after) HOLDFAST_REQUIRES(mutex_);
  void settle_beats(jobs& after) HOLDFAST_REQUIRES(mutex_);
  void end_beats(core::status what, const std::string& text, jobs& after) HOLDFAST_REQUIRES(mutex_);
  void end_old_beats(time_point now, jobs& after) HOLDFAST_REQUIRES(mutex_);
  void wake_at(time_point when) HOLDFAST_REQUIRES(mutex_);
  void tick() HOLDFAST_EXCLUDES(mutex_);
  entry* find(const renewal::handle& h) noexcept HOLDFAST_REQUIRES(mutex_);
  void forget(const entry& e) noexcept HOLDFAST_REQUIRES(mutex_);
  std::vector<held_key> keys_of(const renewal::batch& b) HOLDFAST_REQUIRES(mutex_);
  void advance(const std::function<renewal::step(renewal&)>& event) HOLDFAST_EXCLUDES(mutex_);

  const std::shared_ptr<cluster> cluster_;
  const std::shared_ptr<waiters> waiters_;
  const core::session_record draft_;
  const duration timeout_;
  io::earliest_timer timer_;

  mutable io::mutex mutex_;  // Never held while anything is called back.
  std::optional<renewal> renewal_ HOLDFAST_GUARDED_BY(mutex_);
  entry_table entries_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t turns_ HOLDFAST_GUARDED_BY(mutex_){};  ///< How many entries there were.
  /// Of each slot of the renewal; null where it was erased.
  std::vector<entry*> by_slot_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<waiting_beat> beats_ HOLDFAST_GUARDED_BY(mutex_);
  bool denied_ HOLDFAST_GUARDED_BY(mutex_){};
  bool closed_ HOLDFAST_GUARDED_BY(mutex_){};
  /// The keys of a session that was dropped: its owner may be stopping still.
  std::vector<placed_key> left_ HOLDFAST_GUARDED_BY(mutex_);
  std::string denied_text_ HOLDFAST_GUARDED_BY(mutex_){};
  /// Nodes that may have the session's record, whether they vote now or not.
  node_set asked_ HOLDFAST_GUARDED_BY(mutex_){};
  time_point last_renewal_ HOLDFAST_GUARDED_BY(mutex_){};
  /// Not before is it asked who has a lock.
  time_point finds_again_ HOLDFAST_GUARDED_BY(mutex_){};
  /// What is sent; its memory is used again for the next one.
  std::string batch_ HOLDFAST_GUARDED_BY(mutex_){};
  std::size_t nonce_at_ HOLDFAST_GUARDED_BY(mutex_){};  ///< In batch_, and how long it is.
  std::size_t nonce_size_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace holdfast::engines::redlock
