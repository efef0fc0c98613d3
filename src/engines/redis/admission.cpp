#include "engines/redis/admission.hpp"

#include "core/assert.hpp"
#include "core/lease.hpp"
#include "core/server_life.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>

namespace holdfast::engines::redis {

namespace {

constexpr duration day = std::chrono::hours{24};

admission::write replacement(const admission::sight& s) {
  admission::write w;
  w.seen = {s.record.nonce, s.record.run_id, s.record.admitted_text, s.record.max_ttl_text};
  w.record = s.record;
  w.record.run_id = s.run_id;
  w.record.database = s.database;
  w.record.durable = s.durable;
  w.record.floor = s.known;
  return w;
}

}  // namespace

/// How long earlier leases may have been, as far as this client knows it; zero: it does not. A URL
/// counts only where no earlier record said it, for there it would be refused.
duration admission::longest_known(const store_record& r) const noexcept {
  const bool url_counts = config_.max_ttl_given && !r.inherited();
  return std::max(seen_max_ttl_, url_counts ? config_.max_ttl : duration::zero());
}

admission::write admission::new_life(const sight& s) const {
  // Its keys begin with the nonce.
  HOLDFAST_ASSERT(!s.fresh.empty());
  const store_record& r = s.record;
  auto w = replacement(s);
  w.record.nonce = s.fresh;
  w.record.admitted = false;
  w.record.max_ttl_inherited = r.inherited() || seen_max_ttl_ > duration::zero();
  w.record.max_ttl = std::max(r.whole ? r.max_ttl : duration::zero(), longest_known(r));
  if (w.record.max_ttl == duration::zero()) w.record.max_ttl = config_.max_ttl;
  return w;
}

admission::verdict admission::judge(const sight& s, time_point now) {
  const store_record& r = s.record;
  if (r.there && !r.format.empty() && r.format != "1") {
    return error(errc::unsupported, "the store there has format " + r.format +
                                        ", this program knows format 1: use a newer holdfast");
  }
  const bool restarted = !core::is_same_life(r.run_id, s.run_id);
  const bool swapped = !r.database.empty() && r.database != s.database;
  const bool lost =
      !r.whole || swapped || (restarted && !(r.durable && s.durable)) || r.floor < s.known;
  if (lost) return new_life(s);
  if (!r.admitted && r.max_ttl < longest_known(r)) {
    auto w = replacement(s);
    w.record.max_ttl = longest_known(r);
    return w;
  }
  if (restarted || r.durable != s.durable || r.database != s.database) return replacement(s);
  if (config_.max_ttl_given && config_.max_ttl != r.max_ttl) {
    return error(errc::invalid_argument, "the URL's max_ttl is " + print_duration(config_.max_ttl) +
                                             ", that of the store " + print_duration(r.max_ttl) +
                                             "; use that one, for a restart is waited out by it");
  }
  // A life that is granted in has waited; in one that waits, nothing shorter may count.
  seen_max_ttl_ = r.admitted ? r.max_ttl : std::max(seen_max_ttl_, r.max_ttl);
  was_ready_ = was_ready_ || r.admitted;
  if (r.admitted) return ready{.nonce = r.nonce, .uncleaned = r.uncleaned};
  return wait_out(s, now);
}

admission::verdict admission::wait_out(const sight& s, time_point now) {
  const store_record& r = s.record;
  notes_.forget_before(now - day);
  // From the first sight of this life, whichever client of this process or program of this user had
  // it: so short programs share one wait.
  const time_point until = notes_.note(r.nonce, now) + core::takeover_after(r.max_ttl);
  // Not where it was used since: others took there what they may hold now.
  if (now >= until || (config_.assume_fresh && !was_ready_)) {
    auto w = replacement(s);
    w.record.admitted = true;
    return w;
  }
  std::string why = was_ready_ ? "it lost its state" : "it is new or lost its state";
  why += ", so locks that nobody remembers may be held: nothing is granted for another " +
         print_duration(std::chrono::ceil<std::chrono::seconds>(until - now)) + " (max_ttl " +
         print_duration(r.max_ttl) + " and a margin since it was first seen)";
  // Whoever was served before may be the very one who holds something.
  if (!was_ready_) {
    why +=
        ". It passes by itself. Only where nothing can be held, as at the very first use, "
        "?assume_fresh=yes skips the wait";
  }
  return wait{.until = until, .why = std::move(why)};
}

}  // namespace holdfast::engines::redis
