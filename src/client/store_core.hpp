#pragma once

#include "client/sighting_notes.hpp"
#include "core/lease.hpp"
#include "core/store_url.hpp"
#include "engines/opened_store.hpp"
#include "io/thread/loop.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/fencing_token.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::client {

/// One opened store: the engine, and what sessions and operators share on it.
///
/// Thread safety: every function, from any thread.
class store_core {
 public:
  static result<std::shared_ptr<store_core>> open(std::string_view url, missing what);
  static result<presence> find(std::string_view url);
  /// On an engine that is open already; `ttl` and `limit` as in the URL's query, at most the
  /// store's own limit.
  /// `named`: the URL says this ttl, so it is not changed in silence.
  static std::shared_ptr<store_core> on(engines::opened_store what, duration ttl, duration limit,
                                        bool named = false);

  /// Whether a ttl that the URL names is within the store's own limits.
  static result<void> check_ttl(std::optional<duration> named, const engines::opened_store& what);

  store_core(engines::opened_store what, duration ttl, duration limit, bool named);

  core::engine& engine() const noexcept { return *opened_.engine; }
  const engines::opened_store& opened() const noexcept { return opened_; }
  const std::string& url() const noexcept { return opened_.url; }
  /// Does not ask the store once a session was opened on it.
  result<store_identity> identity() const;
  duration default_ttl() const noexcept { return ttl_; }
  /// Whether the URL names it.
  bool names_ttl() const noexcept { return names_ttl_; }
  /// The longest ttl a session may ask for.
  duration ttl_limit() const noexcept { return limit_; }
  /// Refuses a session's ttl that is shorter than the store's floor, or longer than its limit.
  result<duration> fitting(duration ttl) const;
  /// When the locks of a session that stopped are the next one's, at the latest: from its last
  /// heartbeat, or from a denial.
  duration free_after(duration ttl) const noexcept {
    return opened_.ends_by_itself ? core::takeover_after(ttl) : core::free_after(ttl);
  }
  sighting_notes& notes() noexcept { return notes_; }
  bool forked() const noexcept;
  /// The program is ending, and the engine answers nothing any more.
  bool over() const noexcept { return opened_.loop && opened_.loop->over(); }
  /// Nobody may or can ask it for anything: in a forked child, or late in the program's end.
  bool left_alone() const noexcept { return forked() || over(); }
  /// Success, or why it is left alone.
  result<void> usable() const;
  /// Success when the calling thread may wait for an answer of the engine, or need not; on a thread
  /// of the library, which may be the one that brings it, why `what` is refused.
  result<void> may_wait(std::string_view what) const;

  /// The loop of this store; all objects of this process on the same store share one.
  result<std::shared_ptr<io::loop>> loop();

 private:
  struct request {
    core::store_url url;
    std::optional<duration> ttl;  ///< When the URL names it.
    duration limit{};
  };
  static result<request> read(std::string_view url);

  engines::opened_store opened_;
  duration ttl_;
  duration limit_;
  bool names_ttl_;
  std::uint64_t generation_;
  sighting_notes notes_;
};

}  // namespace holdfast::client
