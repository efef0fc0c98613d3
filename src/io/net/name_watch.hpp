#pragma once

#include "io/net/stream_socket.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::io {

class loop;

/// Looks the name of a connected node up again from time to time, and tells when the address that
/// was connected to is no longer one of the name's: a machine was replaced under its name, and the
/// old one still answers. Other clients are with the new one by then.
///
/// A name that cannot be looked up changes nothing, nor does an answer without any address of the
/// same family: getaddrinfo(3) gives what it has when one of its two questions fails. A missing
/// address is asked for twice, for a name may give some of its addresses at a time.
///
/// Does not promise that all clients notice before the new server takes part: that is up to what
/// their resolvers remember.
///
/// Destroying it ends it. Thread safety: the loop's thread only.
class name_watch : public std::enable_shared_from_this<name_watch> {
 public:
  using addresses = std::vector<socket_address>;
  /// As look_up() for the name.
  using question = std::function<void(std::function<void(result<addresses>)>)>;

  struct target {
    std::string name{};
    socket_address in_use{};
    duration every{};  ///< Up to a quarter more, by chance: many clients start together.
  };

  /// Tells `moved` once, with `unavailable`, when it is so.
  static std::shared_ptr<name_watch> start(const std::shared_ptr<loop>& l, target of, question ask,
                                           std::function<void(const error&)> moved);
  name_watch(const name_watch&) = delete;
  name_watch& operator=(const name_watch&) = delete;
  ~name_watch();

 private:
  name_watch(const std::shared_ptr<loop>& l, target of, question ask,
             std::function<void(const error&)> moved);
  /// And up to a quarter of that more, by chance.
  void look_after(duration pause);
  void look();
  /// What the resolver says. A name that has no address for now has not moved.
  void found(const result<addresses>& all);

  const std::weak_ptr<loop> loop_;
  const target of_;
  const question ask_;
  const std::function<void(const error&)> moved_;
  std::uint64_t timer_{0};
  bool was_missing_{false};
};

}  // namespace holdfast::io
