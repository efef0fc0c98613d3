#pragma once

#include "engines/redlock/cluster.hpp"
#include "io/redis/redis_reload.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace holdfast::engines::redlock {

/// One look at one node: what it says of itself (INFO), how it syncs its writes (CONFIG GET),
/// whether it would read those back, and last its record. Each question follows the answer to the
/// one before; the last answer goes to the admission machine.
///
/// In passing, silence ends it without a word. So does another connection, in any case: behind that
/// one the node is looked at anew.
///
/// Thread safety: none. Once it has begun it goes on, and keeps itself alive, on the loop's thread.
class cluster::inspection final : public std::enable_shared_from_this<cluster::inspection> {
 public:
  inspection(cluster& of, node_index i, occasion why);

  /// Begins. What the node said of itself when it was connected to may be over: it may have been a
  /// replica since.
  void ask_info(cluster& c);
  /// Begins with a node that has just answered INFO.
  void ask_config(cluster& c);

 private:
  using answered = void (inspection::*)(cluster&, const io::redis_answer&);
  /// Whether a node writes down all that it answers, as far as it tells.
  enum class syncing : std::uint8_t { no, rewriting, always };

  void ask(cluster& c, std::string_view question, answered then);
  void take_info(cluster& c, const io::redis_answer& a);
  void take_config(cluster& c, const io::redis_answer& a);
  void ask_reload(cluster& c);
  void take_reload(cluster& c, const io::redis_answer& a);
  void ask_record(cluster& c);
  void take_right(cluster& c, const io::redis_answer& a);
  void finish(cluster& c, const io::redis_answer& a);
  void finish_in_vain(cluster& c, const io::redis_answer& a, fault why,
                      std::string_view what = "its state cannot be read") const;
  bool may_vote_unseen(const cluster& c) const;

  const std::weak_ptr<cluster> of_;
  const node_index node_;
  const occasion why_;
  const std::uint64_t connection_;
  syncing syncs_{};
  io::redis_reload reload_{};
  std::size_t reload_left_{};  ///< So many answers to the questions about it are still to come.
  time_point asked_{};         ///< When the record was asked for.
};

}  // namespace holdfast::engines::redlock
