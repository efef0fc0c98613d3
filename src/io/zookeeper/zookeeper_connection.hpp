#pragma once

#include "io/thread/loop.hpp"

#include <holdfast/clock.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::io {

/// The numbers of ZooKeeper's protocol that somebody here asks for; others are passed on as they
/// are. Those above `api` say nothing about the node.
enum class zoo_code : std::int32_t {
  ok = 0,
  inconsistent = -2,  ///< In a multi: another part failed.
  connection_lost = -4,
  unimplemented = -6,
  timed_out = -7,
  invalid_state = -9,
  api = -100,
  no_node = -101,
  not_allowed = -102,
  bad_version = -103,
  node_exists = -110,
  not_empty = -111,
  session_expired = -112,
  invalid_acl = -114,
  login_failed = -115,
  closing = -116,
  session_moved = -118,
  read_only = -119,
  quota_exceeded = -125,
  throttled = -127,
};

/// ZooKeeper's own word for it.
std::string print(zoo_code c);

/// What a server says of a node, by ZooKeeper's transaction numbers.
struct zoo_stat {
  std::int64_t created{};           ///< czxid
  std::int64_t modified{};          ///< mzxid
  std::int64_t children_changed{};  ///< pzxid
  std::int32_t version{};           ///< Of the data.
  std::int32_t children{};          ///< How many.
};

struct zoo_request {
  enum class kind : std::uint8_t {
    get,
    children,
    access,  ///< Whom the node lets do what.
    sync,
    create,
    create_container,  ///< Removed by the servers when it is empty. Never inside a multi.
    set,
    remove,
    check,  ///< Inside a multi only: the node is there, with this version.
    multi,  ///< All parts or none: create, set, remove, check.
  };
  static constexpr std::int32_t any_version = -1;

  kind what{};
  std::string path{};
  std::string data{};
  std::int32_t version{any_version};
  bool numbered{};  ///< create: a number that grows is appended to the path.
  bool watched{};   ///< get: tells once when the node is changed or removed.
  std::vector<zoo_request> parts{};
};

struct zoo_reply {
  zoo_code code{zoo_code::connection_lost};
  zoo_stat stat{};                   ///< get, children; set, also inside a multi.
  std::string data{};                ///< get: the data. create: the path.
  std::vector<std::string> names{};  ///< children
  bool open_to_all{};                ///< access: everybody may do more there than read.
  std::vector<zoo_reply> parts{};    ///< multi, in the same order.

  bool ok() const noexcept { return code == zoo_code::ok; }
};

/// One session of ZooKeeper's client library (libzookeeper-st), driven by a loop. The library
/// reconnects by itself, to another server where there is one; its session says nothing about any
/// of holdfast's.
///
/// The library has global state without locks: all connections of a process are on one loop.
///
/// Thread safety: the loop's thread only.
class zookeeper_connection : public std::enable_shared_from_this<zookeeper_connection> {
 public:
  using on_reply = std::function<void(zoo_reply)>;

  /// Told what happens to it, never inside send().
  class listener {
   public:
    listener() = default;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    virtual ~listener() = default;
    /// Requests may be sent.
    virtual void connected() = 0;
    /// All requests under way were answered `connection_lost`.
    virtual void disconnected() = 0;
    /// All servers were tried in a row, and none is there: refused, or no ZooKeeper.
    virtual void none_there() = 0;
    /// It is of no use any more: make another one. Its watches are gone.
    virtual void ended() = 0;
    /// A watched node was changed or removed, or may have been.
    virtual void node_changed(const std::string& path) = 0;
  };
  struct options {
    std::string servers{};  ///< "address:port,..." in numbers: names would block the loop.
    std::string login{};    ///< "user:password", scheme digest; empty: none.
    duration timeout{};     ///< After this much silence another server is tried.
  };

  zookeeper_connection(std::shared_ptr<loop> l, options o, std::weak_ptr<listener> its_listener);
  zookeeper_connection(const zookeeper_connection&) = delete;
  zookeeper_connection& operator=(const zookeeper_connection&) = delete;
  ~zookeeper_connection();

  void start();
  bool connected() const noexcept;
  /// Requests are answered in the order in which they were sent. Not connected: it is answered
  /// `invalid_state`, for nothing was sent.
  void send(const zoo_request& r, on_reply done);
  /// Between these two the kernel collects what is sent: the library writes every request in two
  /// pieces, and each would be a packet of its own.
  void hold();
  void let_go();
  /// Gives this server up: what is under way is answered `connection_lost`.
  void hang_up();
  /// Ends the connection; nothing is told from here on but the answers of what is under way. The
  /// server is told of the end, which may take 1.5 s, where all is answered and there is no other
  /// connection that would have to wait; else it keeps its session until that times out.
  void close();
  /// Why it is not connected, for people; empty while the first server has said nothing.
  const std::string& trouble() const noexcept;
  /// "address:port" of the server that it is connected to, or tries.
  std::string server() const;

 private:
  class driver;
  const std::shared_ptr<driver> driver_;
};

}  // namespace holdfast::io
