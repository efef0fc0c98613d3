#pragma once

#include "core/engine.hpp"
#include "engines/zookeeper/batch.hpp"
#include "engines/zookeeper/login_source.hpp"
#include "engines/zookeeper/name_book.hpp"
#include "engines/zookeeper/paths.hpp"
#include "engines/zookeeper/requests.hpp"
#include "engines/zookeeper/settings.hpp"
#include "engines/zookeeper/store_opening.hpp"
#include "io/net/stream_socket.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/mutex.hpp"
#include "io/zookeeper/zookeeper_connection.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::engines::zookeeper {

/// The servers of one ensemble. One of them is connected to at a time; that the library calls
/// itself connected proves nothing, only an answer does.
///
/// Thread safety: the loop's thread only, except start(), close(), set(), where() and
/// trouble_text().
class ensemble final : public io::zookeeper_connection::listener,
                       public std::enable_shared_from_this<ensemble> {
 public:
  class listener {
   public:
    listener() = default;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    virtual ~listener() = default;
    /// A watched node was changed or removed.
    virtual void changed(const std::string& path) = 0;
    /// The connection was lost. True: all watches are to be given up, for example because the
    /// request that makes them again would be too long.
    virtual bool gives_watches_up() = 0;
    /// No watch is left.
    virtual void watches_lost() = 0;
  };

  ensemble(settings s, std::shared_ptr<io::loop> l);
  /// Once more: with another connection.
  void start();
  /// Answers everything that is under way, soon.
  void close();
  /// Before start(), or on the loop's thread.
  void listen(std::weak_ptr<listener> l) { listener_ = std::move(l); }

  const settings& set() const noexcept { return set_; }
  const paths& where() const noexcept { return where_; }
  const std::shared_ptr<io::loop>& shared_loop() const noexcept { return loop_; }

  /// Sends all requests at once, in order; nothing of others comes between them on this client's
  /// connection.
  void send(std::vector<zoo_request> requests, repeat how, on_batch done);
  /// The nodes that hold everything were not there: they are looked for, and made, again.
  void doubt_store() { ready_ = false; }

  /// Why no server is ready, or else what the last batch failed of, for people; empty when it did
  /// not. From any thread.
  std::string trouble_text() const;
  std::string server() const { return connection_ ? connection_->server() : std::string(); }
  std::uint64_t batches() const noexcept { return batches_; }

  void connected() override;
  void disconnected() override;
  void none_there() override;
  void ended() override;
  void node_changed(const std::string& path) override;

 private:
  using batch_ptr = std::shared_ptr<batch>;

  std::string trouble() const;
  /// What trouble_text() says, for threads that are not the loop's.
  void tell_trouble();
  /// What a batch ended with; empty: it was done.
  void tell_batch(const std::string& text);
  /// Asks for the addresses of all names; found_names() is told of each change.
  void resolve();
  /// `complete`: every name has been answered. Connects anew only where that may help.
  void found_names(bool complete);
  /// A new connection to these addresses, instead of the one that there was.
  void connect(const std::string& servers);
  void give_connection_up();
  void log_in_again();
  /// Once at a time; it begins with the names.
  void reconnect_later();
  void renew_when_names_may_have_changed();
  /// Connected: looks for the store's nodes, and makes them, if that was not done yet.
  void prepare();
  /// The answer goes to took_store(). Not repeated: the next connection looks anew.
  void ask_for_store(std::vector<zoo_request> requests);
  void took_store(const batch_result& l);
  void refuse_unless_lost(core::reply why);
  /// The store is not to be used: for those who wait by now.
  void refuse_all(const core::reply& why);

  time_point deadline_of(repeat how) const;
  /// There is a connection. All of its requests go together, so their answers come together, too.
  void send_now(const batch_ptr& b);
  /// Its last answer is there: done, tried again in time, or failed.
  void answered(const batch_ptr& b);
  /// Until a server is ready, at most until its deadline.
  void wait(const batch_ptr& b);
  /// Sends what waits, if a server is ready.
  void drain();
  bool is_hopeless(const batch& b) const;
  /// Those whose time is over, or who have nobody to wait for.
  void fail_waiting();
  void watch_the_time();
  /// Something is under way.
  time_point silent_since() const;
  /// Wakes a server that is silent, and gives one up that stays so.
  void look_at_silence();

  const settings set_;
  login_source login_;
  const paths where_;
  store_opening opening_;
  const std::shared_ptr<io::loop> loop_;
  std::weak_ptr<listener> listener_;
  std::shared_ptr<io::zookeeper_connection> connection_;
  std::list<batch_ptr> under_way_;  ///< In the order in which they were sent.
  std::list<batch_ptr> waiting_;
  std::shared_ptr<name_book> names_;
  std::string in_use_;         ///< The addresses that the connection was given.
  std::string refusal_;        ///< Why this store is not to be used.
  std::string batch_trouble_;  ///< What the last batch failed of.
  mutable io::mutex mutex_;
  std::string told_trouble_ HOLDFAST_GUARDED_BY(mutex_){"not connected yet"};
  time_point lost_at_{};
  std::optional<time_point> none_there_at_;
  time_point last_answer_{};
  std::uint64_t batches_{};
  bool was_connected_{};
  bool was_asked_{};
  /// The store's nodes are there, and of a format that is known. So there is a connection, or was.
  bool ready_{};
  bool preparing_{};
  bool watches_the_time_{};
  bool nudged_{};  ///< A question is under way that is there to be one.
  bool live_{};    ///< The connection was not given up.
  bool reconnects_{};
  bool logs_in_again_{};  ///< The connection is about to be given up for one with another login.
  bool closed_{};
};

}  // namespace holdfast::engines::zookeeper
