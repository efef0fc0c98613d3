#pragma once

#include "core/backoff.hpp"
#include "engines/etcd/cluster.hpp"
#include "io/thread/notice.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::engines::etcd {

/// All watches of one client: one stream, and on it one watch per key, however many wait for it.
///
/// A watch begins one revision after the view that asked for it, so that nothing is missed, and
/// begins there again, on another server if need be, after a loss or a refusal. When that revision
/// is gone by compaction, the waiters are told to look again.
///
/// Thread safety: the loop's thread only.
class watches final : public cluster::listener, public std::enable_shared_from_this<watches> {
 public:
  explicit watches(std::shared_ptr<cluster> c) : cluster_(std::move(c)) {}

  /// Fires the notice when one of the keys is deleted after `revision`.
  void arm(std::uint64_t number, std::vector<std::string> keys, std::int64_t revision,
           std::shared_ptr<io::notice> n);
  void forget(std::uint64_t number);

  void moved() override;

 private:
  struct armed {
    std::vector<std::string> keys;
    std::shared_ptr<io::notice> notice;
  };
  struct key_watch {
    std::int64_t id{};
    std::int64_t from{};
    bool sent{};
    std::vector<std::uint64_t> waiting{};
  };
  using key_watches = std::map<std::string, key_watch, std::less<>>;

  /// One stream with all watches, at the server that is preferred. Nothing when there is one.
  void open();
  void open_later();
  void send(const std::string& key, key_watch& w);
  /// One message of the stream that is open.
  void took(std::string_view message);
  /// It is opened anew after a pause, and every watch begins there where it began.
  void ended();
  void give_up();
  /// Whether the key is still there, with others in one transaction: see took().
  void look_soon(const std::string& key);
  /// An answer that fails is nothing: the watch tells it, later.
  void look();
  /// Tells all who wait for it. They may arm and forget meanwhile.
  void fire(const std::string& key);
  void drop(key_watches::iterator at);

  const std::shared_ptr<cluster> cluster_;
  std::unordered_map<std::uint64_t, armed> armed_;
  key_watches keys_;
  std::unordered_map<std::int64_t, std::string> key_of_;
  std::vector<std::string> to_look_at_;
  std::shared_ptr<member> server_;
  std::uint64_t stream_{};
  std::int64_t last_id_{};
  bool opens_later_{};
  core::backoff pause_{std::chrono::milliseconds{20}, std::chrono::seconds{1}};
};

}  // namespace holdfast::engines::etcd
