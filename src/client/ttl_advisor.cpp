#include "client/ttl_advisor.hpp"

#include "client/session_core.hpp"
#include "core/lease.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::client {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t beats_max = 20;
constexpr duration beats_time = 2s;
/// A machine has worse moments than the one at which it is measured.
constexpr int worse_moments = 4;

/// Long enough for the session to outlive the measurement without a heartbeat of its own.
constexpr duration own_ttl = 20s;

std::string rounded(duration d) {
  return print_duration(d < 10ms ? duration(std::chrono::ceil<std::chrono::microseconds>(d))
                                 : duration(std::chrono::ceil<std::chrono::milliseconds>(d)));
}

struct measurement {
  std::vector<duration> took;  ///< By heartbeats, sorted.
  duration limit{};            ///< The longest ttl that the store took.
};

/// `intended`: how long the sessions are to live that somebody wants.
result<measurement> measure(const std::shared_ptr<store_core>& store, duration intended) {
  // At least its own ttl, for the measurement is not to be cut short by a short one that is asked
  // about.
  const auto asked =
      std::min(std::max({intended, own_ttl, store->default_ttl()}), store->ttl_limit());
  auto own = session_core::open(store, {.ttl = asked, .label = "measures heartbeats"},
                                may_be_shorter::yes);
  if (!own) return own.error();
  const duration ttl = (*own)->ttl();
  std::vector<duration> took;
  const auto end = clock::now() + std::min(beats_time, ttl / 6);
  do {
    const auto one = (*own)->time_of_beat();
    if (!one) {
      (void)(*own)->close();
      return one.error();
    }
    took.push_back(*one);
  } while (took.size() < beats_max && clock::now() < end);
  if (const auto closed = (*own)->close(); !closed) return closed.error();
  std::ranges::sort(took);
  // A shorter ttl than the one asked for is the limit of the store's records.
  return measurement{std::move(took), ttl < asked ? ttl : store->ttl_limit()};
}

/// In the store's own words, which say what raises its limit.
std::string why_refused(const std::shared_ptr<store_core>& store, duration ttl, duration limit) {
  std::string text = "the store takes " + print_duration(limit) + " at most, its max_ttl";
  // Asked for once more, though it is refused: only the store knows what raises its limit.
  auto own = session_core::open(store, {.ttl = ttl, .label = "measures heartbeats"});
  if (!own) return text + " (" + own.error().message() + ")";
  (void)(*own)->close();
  return text;
}

std::string when_freed(const store_core& store, duration ttl) {
  return "With a ttl of " + print_duration(ttl) +
         ", the lock of a holder that hangs or is cut off goes to the next within " +
         rounded(store.free_after(ttl)) +
         (store.opened().life_directory.empty()
              ? ", and so does that of one that crashed"
              : "; that of one that crashed on this host at once, to whoever waits on this host");
}

double seconds(duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

result<finding> advise_ttl(const std::shared_ptr<store_core>& store,
                           std::optional<duration> intended, const core::early_stop& early) {
  duration ttl = intended.value_or(store->default_ttl());
  if (ttl <= duration::zero()) {
    return error(errc::invalid_argument, "no session has a ttl of " + print_duration(ttl));
  }
  const auto measured = measure(store, ttl);
  if (!measured) return measured.error();
  if (!intended && !store->names_ttl()) ttl = std::min(ttl, measured->limit);
  const auto& took = measured->took;
  const auto& opened = store->opened();
  const auto silent = opened.longest_failover ? opened.longest_failover() : engines::failover{};
  const auto smallest = [&](const core::early_stop& stops) {
    return std::max(opened.ttl_floor,
                    core::smallest_ttl(silent.silence, worse_moments * took.back(), stops));
  };
  const duration least = smallest(early);

  std::string text = "a heartbeat took " + rounded(took[took.size() / 2]) + ", the slowest of " +
                     std::to_string(took.size()) + " " + rounded(took.back()) + "; ";
  if (silent.silence > 0ns) {
    text += "a failover may take " + print_duration(silent.silence) + " (" + silent.why + "); ";
  }
  text += "the smallest safe ttl is " + print_duration(least);
  if (early) {
    text += ", with the last " + rounded(early(least)) + " of it for stopping";
    if (const auto bare = smallest({}); bare < least)
      text += ", and " + print_duration(bare) + " without";
  }
  text += ". That was measured now: where machine or network are at times much slower, take more";
  std::vector<figure> figures{{"beat_s", seconds(took[took.size() / 2])},
                              {"slowest_beat_s", seconds(took.back())},
                              {"smallest_ttl_s", seconds(least)},
                              {"ttl_s", seconds(ttl)},
                              {"max_ttl_s", seconds(measured->limit)}};
  const auto fits = store->fitting(ttl);
  if (fits) {
    text += ". " + when_freed(*store, ttl);
    figures.push_back({"free_within_s", seconds(store->free_after(ttl))});
  }
  if (!fits || ttl > measured->limit) {
    const std::string why =
        fits ? why_refused(store, ttl, measured->limit) : fits.error().message();
    return finding{severity::fault, "ttl",
                   "no session is opened with " + print_duration(ttl) + ": " + why + "; " + text,
                   std::move(figures)};
  }
  if (ttl >= least) return finding{severity::good, "ttl", std::move(text), std::move(figures)};
  text += ". This ttl may lose locks that nobody wanted to lose: ";
  if (least <= measured->limit) {
    text += "take " + print_duration(least) + " or more";
  } else {
    text += "the longest that this store takes is " + print_duration(measured->limit) + ", so " +
            (early ? "leave less of it for stopping, or " : "") +
            "make its max_ttl longer, up to " + print_duration(core::ttl_max) +
            ", where it has one";
  }
  return finding{severity::warning, "ttl", std::move(text), std::move(figures)};
}

}  // namespace holdfast::client
