#pragma once

#include "core/engine.hpp"
#include "engines/zookeeper/requests.hpp"

#include <holdfast/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::engines::zookeeper {

/// What became of one batch: requests sent together, and all their answers.
struct batch_result : core::reply {  ///< ok: all were answered, if only by a refusal.
  std::vector<zoo_reply> replies{};  ///< When ok, in the order of the requests.
};
using on_batch = std::function<void(batch_result)>;

/// Whether a batch may be sent more than once.
enum class repeat : std::uint8_t {
  never,   ///< An unknown outcome is the outcome.
  always,  ///< A read, or a removal of what may be gone: until the time is over.
};

/// Requests that are sent together, again where that is allowed, until their outcome is known.
///
/// Thread safety: none; one owner.
class batch {
 public:
  struct times {
    time_point asked{};     ///< Since when it is waited for.
    time_point deadline{};  ///< Of all tries.
  };
  batch(std::vector<zoo_request> requests, repeat how, times when, on_batch done)
      : requests_(std::move(requests)), how_(how), when_(when), done_(std::move(done)) {}

  const std::vector<zoo_request>& requests() const noexcept { return requests_; }
  const times& when() const noexcept { return when_; }

  /// One more try. Not before all of the last one is answered.
  void begin_try(time_point now);
  /// When the last one began.
  time_point sent() const noexcept { return sent_; }
  /// True: all requests are answered.
  bool took(std::size_t number, zoo_reply r);

  /// The first code that says nothing about a node, for which the batch has no answer; null when
  /// there is none. Notes what the try may have done. Once for each try, when all is answered.
  const zoo_reply* judge();
  /// A try may have been carried out: that it failed is not the outcome.
  bool may_be_done() const noexcept { return may_be_done_; }
  /// It may be sent again: nothing was done, or that does no harm.
  bool may_repeat() const noexcept { return how_ == repeat::always || !may_be_done_; }

  /// Tells the answers. Once, as fail(), unless nothing was told.
  void succeed();
  void fail(core::reply why);
  /// With what is known: `unknown` when it may be done, and else `unavailable`.
  void fail(std::string text, bool needs_operator = false) {
    fail({may_be_done_ ? core::status::unknown : core::status::unavailable, std::move(text),
          needs_operator});
  }

 private:
  const std::vector<zoo_request> requests_;
  const repeat how_;
  const times when_;
  on_batch done_;
  time_point sent_{};
  std::vector<zoo_reply> replies_;
  std::size_t missing_{};
  bool may_be_done_{};
};

}  // namespace holdfast::engines::zookeeper
