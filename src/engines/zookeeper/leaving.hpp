#pragma once

#include "core/engine.hpp"
#include "engines/zookeeper/queue_look.hpp"
#include "engines/zookeeper/store.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::engines::zookeeper {

/// One leave: of an entry whose node is known in one batch, of another in two or three. The gate
/// is moved before the entry is looked for: an enqueue that is still under way finds either the new
/// gate, or its entry removed.
///
/// Thread safety: the loop's thread only. It keeps itself alive until it has answered.
class leaving : public std::enable_shared_from_this<leaving> {
 public:
  leaving(std::shared_ptr<store> s, core::leave_request r, core::on<core::leave_reply> done);
  void start();

 private:
  /// Reads the gate; writes it where it is to be moved, for its version is the gate.
  zoo_request gate_question() const;
  /// Empty: no node is removed, and only the gate is asked for or moved.
  void leave_node(const std::string& path);
  /// No path is known here: our entries are looked for among the queue's.
  void find();
  void took_names(const batch_result& l);
  /// Of the queue; success also when they are gone already.
  void remove_all(const std::vector<std::string>& nodes);
  /// Tells as well whether the session is there.
  void took_gate(const zoo_reply& gate);
  /// The entry is gone for good.
  void conclude();
  void refuse(core::reply why);

  const std::shared_ptr<store> store_;
  const core::leave_request request_;
  core::on<core::leave_reply> done_;
  const std::string queue_;
  bool there_{};  ///< The session's record is.
  std::uint64_t gate_{};
};

/// One confirm: a second batch only while somebody is ahead who may be dead.
///
/// Thread safety: as leaving.
class confirming : public std::enable_shared_from_this<confirming> {
 public:
  confirming(std::shared_ptr<store> s, core::confirm_request r, core::on<core::queue_view> done);
  void start();

 private:
  void took(const batch_result& l);
  /// No path is known here. Which of our entries it is tells its data only.
  void find_by_order();
  /// Granted by the names alone, or a look at those ahead has to tell.
  void judge_place(const named_entry& mine);
  void view(const queue_picture& p, const named_entry& mine);
  void refuse(core::reply why);

  const std::shared_ptr<store> store_;
  const core::confirm_request request_;
  core::on<core::queue_view> done_;
  const std::string queue_;
  token mine_{};
  queue_names names_;
};

}  // namespace holdfast::engines::zookeeper
