#pragma once

#include <zookeeper/zookeeper.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

/// The flight that a lock on ZooKeeper cannot do without, by the client library alone, on the
/// calling thread: make a numbered node and read its transaction, the children and the session's
/// node. A release removes the node.
class bare_zookeeper {
 public:
  /// Makes the parents of so many names, so that no flight has to.
  bare_zookeeper(const std::string& server, std::size_t names);
  bare_zookeeper(const bare_zookeeper&) = delete;
  bare_zookeeper& operator=(const bare_zookeeper&) = delete;
  ~bare_zookeeper();

  /// One caller: how long each flight took, in microseconds.
  std::vector<double> run_one(double seconds);
  /// As many callers as there are names: how often one of them acquired and released.
  std::uint64_t run_all(double seconds);
  /// How long it takes from the removal of a watched node until its watch fires, in microseconds.
  std::vector<double> run_deliveries(double seconds);

 private:
  struct caller {
    bare_zookeeper* all;
    std::string parent;
    std::string made;
    int missing{};
    bool releasing{};
    bool goes_on{};
  };
  static void answered(caller& c, int code);

  void begin(caller& c);
  void turn();
  void await(const bool& done);
  void make(const std::string& path);

  zhandle_t* handle_{};
  std::vector<caller> callers_;
  std::size_t busy_{};
  std::uint64_t pairs_{};
  double end_{};
};

}  // namespace holdfast::bench
