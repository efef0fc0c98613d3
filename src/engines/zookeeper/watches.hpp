#pragma once

#include "engines/zookeeper/ensemble.hpp"
#include "io/thread/notice.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::engines::zookeeper {

/// All watches of one client: at most one on each node, however many wait for it. A watch is set by
/// reading the node, so that one which is gone already is noticed; it stays when nobody waits any
/// more, and serves who comes next, until it fires.
///
/// Thread safety: the loop's thread only.
class watches final : public ensemble::listener, public std::enable_shared_from_this<watches> {
 public:
  explicit watches(std::shared_ptr<ensemble> e) : servers_(std::move(e)) {}

  /// Fires the notice when one of the nodes is gone, or may be. Not for a gate that somebody
  /// removed by hand: the next look would find that again, at once, without an end.
  void arm(std::uint64_t number, std::vector<std::string> nodes, std::shared_ptr<io::notice> n);
  void forget(std::uint64_t number);

  void changed(const std::string& path) override { fire(path); }
  bool gives_watches_up() override;
  void watches_lost() override;

 private:
  struct armed {
    std::vector<std::string> nodes;
    std::shared_ptr<io::notice> notice;
  };
  using waiting = std::vector<std::uint64_t>;

  /// Fires at once where there is nothing to watch any more.
  void set(const std::string& path);
  void fire(const std::string& path);
  /// Who waited for it; it is watched no longer.
  waiting take(const std::string& path);

  const std::shared_ptr<ensemble> servers_;
  std::unordered_map<std::uint64_t, armed> armed_;
  std::map<std::string, waiting, std::less<>> nodes_;
  std::size_t bytes_{};  ///< Of all paths in nodes_.
};

}  // namespace holdfast::engines::zookeeper
