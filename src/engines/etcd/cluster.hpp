#pragma once

#include "core/engine.hpp"
#include "core/store_id.hpp"
#include "engines/etcd/codec.hpp"
#include "engines/etcd/keys.hpp"
#include "engines/etcd/member.hpp"
#include "engines/etcd/settings.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/mutex.hpp"
#include "wire/etcd_replies.hpp"
#include "wire/etcd_requests.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::engines::etcd {

/// What became of one transaction.
struct txn_result : core::reply {        ///< ok: it was decided, one way or the other.
  const wire::etcd::txn_reply* reply{};  ///< When ok; during the call only.
  bool compacted{};                      ///< It asked for a revision that is not there any more.
  /// The servers have no space left. They look before a request goes through the log and once more
  /// behind it, where they refuse what they have done.
  bool full{};
};
using on_txn = std::function<void(const txn_result&)>;

/// Whether and how a transaction may be sent more than once.
enum class repeat : std::uint8_t {
  never,   ///< An unknown outcome is the outcome.
  always,  ///< A read: to another server, until the time is over. Never an unknown outcome.
  hedged,  ///< A beat: to the next server too when the first one is slow; any answer counts.
};

/// The epoch record as it is known here.
struct known_epoch {
  cluster_epoch value{};
  std::int64_t mod{};  ///< Compared by whatever makes an entry or a session.
};

/// The servers of one cluster, and which of them is asked.
///
/// Calls go to one preferred server; after a silence, a loss or a refusal of its own the next one
/// is preferred. Nothing is sent before the epoch record is known to be of the cluster that
/// answers, and to no server whose own record is of another store.
///
/// Thread safety: the loop's thread only, except start(), close(), set(), trouble_text() and
/// identity().
class cluster final : public member::listener, public std::enable_shared_from_this<cluster> {
 public:
  /// Told when a stream should be opened anew, at the server that is preferred now.
  class listener {
   public:
    listener() = default;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    virtual ~listener() = default;
    virtual void moved() = 0;
  };

  cluster(settings s, std::shared_ptr<io::loop> l);
  void start();
  /// Answers everything that is under way, soon.
  void close();
  /// Before start(), or on the loop's thread.
  void listen(std::weak_ptr<listener> l) { listener_ = std::move(l); }

  const settings& set() const noexcept { return set_; }
  const key_space& keys() const noexcept { return keys_; }
  const std::shared_ptr<io::loop>& shared_loop() const noexcept { return loop_; }
  const known_epoch& epoch() const noexcept { return epoch_; }
  /// The store's, once the epoch record was read; else zero. From any thread.
  core::store_id identity() const;

  void txn(const wire::etcd::txn& t, repeat how, on_txn done);
  /// The epoch record was found to be another one: nothing is sent until it is read again.
  void doubt_epoch();

  /// The preferred server while it is in use, else another that is; null: none is.
  std::shared_ptr<member> preferred();
  const std::vector<std::shared_ptr<member>>& members() const noexcept { return members_; }
  /// Why no server is ready.
  std::string troubles() const;
  /// What the last transaction failed of; empty when it did not.
  std::string trouble_text() const;

  void came_up(std::size_t index) override;
  void went_down(std::size_t index) override;
  void failed() override;

 private:
  struct exchange;
  using exchange_ptr = std::shared_ptr<exchange>;

  /// To the preferred server, or it waits until one is ready.
  void send(const exchange_ptr& e);
  /// `index` is in use. Each call ends in one took().
  void send_to(const exchange_ptr& e, std::size_t index);
  /// Also when another server has answered before. `after` is what revision_ was when it was asked.
  void took(const exchange_ptr& e, std::size_t index, std::int64_t after,
            const io::grpc_outcome& o);
  /// The server has answered with a status that is not OK.
  void took_refusal(const exchange_ptr& e, std::size_t index, const io::grpc_outcome& o);
  void again_or(const exchange_ptr& e, core::status otherwise, std::string text);
  duration patience() const;
  void hedge_later(const exchange_ptr& e, std::size_t index);
  /// Calls `done`, once; whatever comes later is dropped.
  void finish(const exchange_ptr& e, txn_result r);
  void tell_trouble(const std::string& text);
  /// Until its deadline at most, and not at all when that is hopeless.
  void wait(const exchange_ptr& e);
  /// Every server has failed since `e` began, and none was ever used.
  bool is_hopeless(const exchange& e) const;
  /// Whoever is asked: a person has to act first.
  bool is_barred() const;
  /// Those whose time is over or for whom there is no hope.
  void fail_waiting();
  /// A server is ready: sends what waits.
  void drain();
  /// The next one is preferred, if this one was. Streams are opened anew there.
  void move_from(std::size_t index);

  struct epoch_question {
    std::size_t index{};     ///< Who is asked.
    std::uint64_t number{};  ///< As epoch_questions_ was.
    std::uint64_t logins{};  ///< Of that member, when it was asked.
    std::int64_t after{};    ///< As revision_ was.
  };
  bool has_any_in_use() const;
  /// Asks a server that is ready whose it is; see took_proof().
  void prove(std::size_t index);
  /// What it was asked is of its present login, and it has not shown it otherwise.
  bool is_to_prove(const epoch_question& q) const;
  void prove_later(const epoch_question& q);
  /// It is of the store if its epoch record has the store's id and it has forgotten nothing.
  void took_proof(const epoch_question& q, const io::grpc_outcome& o);
  void is_another(std::size_t index, bool of_our_store);
  bool may_tell_epoch(std::size_t index) const;
  /// Reads the record at one server, and makes it on an empty prefix. Nothing while a question is
  /// open.
  void learn_epoch(std::size_t index);
  /// Where the first one is silent, the next may tell it: whichever answers first counts.
  void ask_another_later(std::size_t index);
  /// From here on the servers may be used, unless it is another history: then the epoch is raised.
  void took_epoch(const epoch_question& q, const io::grpc_outcome& o);
  /// The server is of no use for now; the record is looked for at the others.
  void refuse_epoch(const epoch_question& q, std::string why,
                    member::refusal how = member::refusal::passing);
  bool has_lost_epoch(const cluster_epoch& e) const;
  bool was_given_before(const cluster_epoch& e, bool set_back) const;
  void raise_epoch(const epoch_question& q, bool set_back);
  void ask_epoch(epoch_question q, const wire::etcd::txn& t);

  const settings set_;
  const key_space keys_;
  const std::shared_ptr<io::loop> loop_;
  std::weak_ptr<listener> listener_;
  std::vector<std::shared_ptr<member>> members_;
  std::size_t preferred_{0};
  std::list<exchange_ptr> waiting_;
  known_epoch epoch_{};
  cluster_epoch newest_{};  ///< The last one that was used: no token of it is to be given again.
  /// The newest one that was told. Whatever is asked later is linearizable: an older one in an
  /// answer to that shows that the history was set back, under the same id of the cluster.
  std::int64_t revision_{};
  mutable io::mutex identity_mutex_;
  core::store_id identity_ HOLDFAST_GUARDED_BY(identity_mutex_){};
  bool was_used_{};  ///< Some server, some time.
  bool was_asked_{};
  bool epoch_known_{};
  bool epoch_asked_{};
  std::uint64_t epoch_questions_{};  ///< Older ones may be open, too.
  bool closed_{};
  mutable io::mutex mutex_;
  std::string told_trouble_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::engines::etcd
