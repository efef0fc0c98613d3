#pragma once

#include "io/file/unique_fd.hpp"
#include "io/net/stream_socket.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::io {

class loop;

/// Connects to the first of a node's addresses that lets us. One that refuses is left for the next
/// at once; one that says nothing keeps its chance while the next is tried beside it, for a host
/// that drops packets must not use up the time in which another would answer (RFC 8305).
///
/// Destroying it gives up. Thread safety: the loop's thread only.
class dial : public std::enable_shared_from_this<dial> {
 public:
  struct target {
    std::string host{};                       ///< As it was asked for; an error names others.
    std::vector<socket_address> addresses{};  ///< Not empty; tried in this order.
    duration silence_max{};                   ///< As in start_connecting().
    duration patience{std::chrono::milliseconds{250}};  ///< With an address that says nothing.
  };
  /// The connected socket, or `unavailable` with each address and why not, without the node.
  using on_end = std::function<void(result<unique_fd>)>;

  static std::shared_ptr<dial> make(const std::shared_ptr<loop>& l, target to, on_end ended);
  dial(const dial&) = delete;
  dial& operator=(const dial&) = delete;
  ~dial();

  /// Tells its end once, perhaps before it returns.
  void start();
  /// The address that it is connected to, once it is.
  const socket_address& reached() const noexcept { return to_.addresses[reached_]; }

 private:
  struct failure {
    std::string address;
    std::string reason;
  };
  class tries;
  dial(const std::shared_ptr<loop>& l, target to, on_end ended);
  /// Begins with the next address that does not fail at once. The end is told when none is left.
  void next();
  /// Connected or refused; the first that is connected ends it all.
  void answered(std::size_t number);
  /// When it is silent for too long the next one is begun beside it.
  void await_answer(std::size_t number);
  /// There is a failure of each address.
  error refused_by_all() const;

  const std::weak_ptr<loop> loop_;
  const target to_;
  on_end ended_;
  const std::unique_ptr<tries> tries_;
  std::size_t next_{0};
  std::size_t reached_{0};
  std::vector<failure> failures_;
};

}  // namespace holdfast::io
