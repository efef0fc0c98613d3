#pragma once

#include "io/net/peer_silence.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <optional>

namespace holdfast::io {

/// When a connection is of no use any more though nothing has ended it: the server says nothing
/// while answers are due, or it says something and takes no calls. Another connection may lead to
/// one that does.
class grpc_silence {
 public:
  explicit grpc_silence(duration most) : most_(most), silence_(most) {}

  /// Something came.
  void heard() { silence_.heard(); }
  /// A call was answered.
  void answered() { untaken_since_ = time_point::max(); }
  /// A call was not answered by its deadline; `taken`: the server may have seen it.
  void late(bool taken);
  /// A call was given back by the server, which has not looked at it.
  void refused();
  /// When why_leave() is to be asked; the end of time: not because of silence.
  time_point due() const { return silence_.over_at(); }
  /// Nothing: the connection is as it should be.
  std::optional<error> why_leave();

 private:
  duration most_;
  peer_silence silence_;
  time_point untaken_since_{time_point::max()};
  bool was_untaken_{};  ///< One more call, since why_leave() was asked.
};

}  // namespace holdfast::io
