#pragma once

#include "core/engine.hpp"
#include "engines/zookeeper/queue_look.hpp"
#include "engines/zookeeper/store.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::engines::zookeeper {

/// One picture of the whole store. ZooKeeper reads one node at a time; a server's state only moves
/// on, and every answer tells the transaction of the node's last change. So everything is read
/// twice in one batch, and when nothing in the second reading is newer than the newest of the
/// first one, all of it is as it was between the two. But for heartbeats, which never end where
/// there are many sessions: of each session its last one is told.
///
/// Thread safety: the loop's thread only. It keeps itself alive until it has answered.
class listing : public std::enable_shared_from_this<listing> {
 public:
  listing(std::shared_ptr<store> s, core::on<core::listing> done);
  void start() { read(); }

 private:
  /// All twice over in one batch, of the names that the reading before told.
  void read();
  void took(const batch_result& l);
  /// Nothing of the picture has changed between both readings: then all of it was there at once.
  bool is_one_moment(const batch_result& l) const;
  std::int64_t change_of(std::size_t at, const zoo_reply& r) const;
  /// Which sessions and queues the next reading asks for.
  void learn(const batch_result& l);
  /// The picture is of one moment; orders that are not known here are asked for.
  void read_entries(const batch_result& l);
  bool take_queue(const std::string& node, const std::vector<std::string>& entries);
  void took_entries(const std::vector<std::size_t>& unknown, const batch_result& l);
  void answer();
  /// Until its time is over.
  void again();
  void refuse(core::reply why);

  const std::shared_ptr<store> store_;
  core::on<core::listing> done_;
  const time_point limit_;
  std::vector<session_id> sessions_;  ///< To be read.
  std::vector<std::string> queues_;   ///< Likewise, as their nodes are called.
  core::listing all_;
  std::map<session_id, std::uint64_t> incs_;
  struct shown_entry {
    std::string path;
    entry_facts facts;
  };
  std::vector<shown_entry> entries_;  ///< All that are in the picture, as they are in it.
};

}  // namespace holdfast::engines::zookeeper
