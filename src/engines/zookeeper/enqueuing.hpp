#pragma once

#include "core/engine.hpp"
#include "engines/zookeeper/queue_look.hpp"
#include "engines/zookeeper/store.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::engines::zookeeper {

/// One enqueue. A name that nobody else is in the queue of is granted in one batch: a multi that
/// makes the entry on condition of session and gate, and sets the queue's node, whose stat tells
/// the transaction (the token) and how many are there. The children are read in the same batch
/// unless nobody was there before. Whoever waits needs one batch more, for the sessions of those
/// ahead.
///
/// A try must leave nothing behind: it looks first, and makes the entry on condition that nobody
/// has come since, which the version of the queue's node tells. So does whatever is in doubt.
///
/// Thread safety: the loop's thread only. It keeps itself alive until it has answered.
class enqueuing : public std::enable_shared_from_this<enqueuing> {
 public:
  enqueuing(std::shared_ptr<store> s, core::enqueue_request r, core::on<core::queue_view> done);
  void start();

 private:
  // At once, and then look.
  void enter();
  /// The entry was made, or something was in its way: a look tells what.
  void took_entry(batch_result l);
  /// The entry is there, and who else is was not asked for.
  void look_around();
  /// The entry is there, among these.
  void decide_inside(const std::vector<std::string>& nodes);
  /// The same, with those ahead of it of whom it was asked whether they live.
  void decide_inside(const queue_picture& p);
  /// Removes the entry, and goes on only when that is certain.
  void withdraw(std::function<void()> then);

  // Look, and then at once if nothing has changed.

  /// Makes no entry. After too many rounds it is given up.
  void look_first();
  void took_look(const batch_result& l);
  /// Our entry is not there, or an earlier copy of the request has made it.
  void decide_outside(const queue_picture& p);
  /// On condition that nobody has come since the look: then `v` is what it gets.
  void append(core::queue_view v, const queue_picture& p);
  void took_append(const batch_result& l, core::queue_view v, std::vector<std::string> targets);

  /// What comes before the rest of a batch: the queue's node, where it may be missing.
  std::vector<zoo_request> begun(bool make_queue) const;
  /// All or none: the session may, its gate is this one, and the queue has this version.
  zoo_request making(std::int32_t queue_version) const;
  core::entry as_entry(token order) const;
  void grant();
  void answer(core::queue_view v, std::vector<std::string> targets);
  void refuse(core::reply why);

  const std::shared_ptr<store> store_;
  const core::enqueue_request request_;
  core::on<core::queue_view> done_;
  const std::string queue_;
  unsigned rounds_{};
  bool is_new_{};        ///< No entry of this request can be there.
  bool quiet_{};         ///< The children were not asked for.
  std::string path_;     ///< Of our entry, when it is there.
  token mine_{};         ///< Its order.
  queue_sight sight_{};  ///< What was known of the queue, and then what is.
  queue_names names_;
  std::uint64_t gate_{};  ///< The record's.
};

}  // namespace holdfast::engines::zookeeper
