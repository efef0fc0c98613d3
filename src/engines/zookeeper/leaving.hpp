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
  zoo_request gate_question() const;
  void leave_node(const std::string& path);
  void find();
  void took_names(const batch_result& l);
  void remove_all(const std::vector<std::string>& nodes);
  void took_gate(const zoo_reply& gate);
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
  void find_by_order();
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
