#pragma once

#include "io/grpc/grpc_connection.hpp"
#include "io/thread/loop.hpp"
#include "wire/etcd_requests.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::bench {

/// One connection to one etcd, and on it what every lock on etcd needs at least: a transaction that
/// puts a key that is not there, and one that deletes the key that was put.
///
/// Everything happens on its loop's thread, except the constructor and on_loop().
class bare_etcd {
 public:
  explicit bare_etcd(const std::string& address);
  bare_etcd(const bare_etcd&) = delete;
  bare_etcd& operator=(const bare_etcd&) = delete;
  ~bare_etcd();

  void on_loop(std::function<void()> task) { loop_->post(std::move(task)); }
  void acquire(const std::string& key, std::function<void(std::int64_t revision)> done);
  void release(const std::string& key, std::int64_t revision, std::function<void()> done);
  /// Calls `gone` whenever the key was deleted.
  void watch(const std::string& key, std::function<void()> gone);

 private:
  void txn(const wire::etcd::txn& t, std::function<void(std::int64_t revision)> done);

  std::shared_ptr<io::loop> loop_;
  std::unique_ptr<io::grpc_connection> line_;
};

}  // namespace holdfast::bench
