#include "engines/redlock/max_ttl.hpp"

#include "engines/redlock/listing.hpp"
#include "io/thread/latch.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace holdfast::engines::redlock {

namespace {

struct long_sessions {
  std::size_t count{};
  duration longest{};
};

/// Those with a ttl above `max_ttl`. Who holds with one has a record of the session, except without
/// tokens, or in another program. The error says why it cannot be seen.
result<long_sessions> look_for_long_sessions(const std::shared_ptr<cluster>& c, duration max_ttl) {
  const auto seen = std::make_shared<core::listing>();
  const auto done = std::make_shared<io::latch>();
  std::make_shared<listing>(c, std::make_shared<shown_tokens>(), [seen, done](core::listing l) {
    *seen = std::move(l);
    done->open();
  })->start();
  done->wait();
  if (seen->what != core::status::ok) {
    return error(errc::unavailable, "whether a session has a ttl above " + print_duration(max_ttl) +
                                        " cannot be seen: " + seen->text);
  }
  long_sessions found;
  for (const auto& s : seen->sessions) {
    found.longest = std::max(found.longest, s.ttl);
    found.count += s.ttl > max_ttl ? 1U : 0U;
  }
  return found;
}

/// What is wrong with them: a node that loses its state after the change waits for the new max_ttl
/// alone.
std::string too_early(const long_sessions& s, duration max_ttl, const std::string& when) {
  const bool one = s.count == 1;
  return std::to_string(s.count) + (one ? " session" : " sessions") + when +
         (one ? " has" : " have") + " a ttl above " + print_duration(max_ttl) + ", up to " +
         print_duration(s.longest) +
         ": a node that loses its state after the change would grant too early what " +
         (one ? "it holds" : "they hold");
}

}  // namespace

duration longest_ttl(const cluster& c) {
  std::vector<duration> each;
  for_each(c.now_voting()->voters, [&](node_index i) {
    if (const auto p = c.view_of(i); p.facts.record) each.push_back(p.facts.record->max_ttl);
  });
  if (each.empty()) return {};
  std::ranges::sort(each, std::greater{});
  return each[std::min(each.size(), c.majority()) - 1];
}

std::string ttl_too_long(duration ttl, duration most) {
  return "the ttl is " + print_duration(ttl) +
         "; max_ttl in the records of this store's nodes is " + print_duration(most) +
         ". Take a shorter ttl, or stop all holders and raise it: holdfast redlock recover " +
         "--max-ttl " + print_duration(ttl) + ", see docs/redlock.md";
}

duration kept_max_ttl(const cluster& c) {
  duration kept{};
  for (node_index i = 0; i < c.size(); ++i) {
    if (const auto p = c.view_of(i); p.facts.record) {
      kept = std::max(kept, p.facts.record->max_ttl);
    }
  }
  return kept;
}

duration max_ttl_of(duration asked, const cluster& c) {
  if (asked != duration::zero()) return asked;
  const duration kept = kept_max_ttl(c);
  return kept > duration::zero() ? kept : c.set().max_ttl;
}

std::string ttl_above(const settings& s, duration max_ttl) {
  if (!s.ttl || *s.ttl <= max_ttl) return {};
  return "the URL's ttl is " + print_duration(*s.ttl) + ", above the max_ttl of " +
         print_duration(max_ttl) + ": no session can be opened with this URL";
}

std::string other_max_ttl(const settings& s, duration recorded, const std::string& where) {
  if (!s.max_ttl_given || s.max_ttl == recorded) return {};
  return "the URL's max_ttl is " + print_duration(s.max_ttl) + ", that of " + where + " " +
         print_duration(recorded) +
         ": the records decide, the URL only forbids its clients a longer ttl. Let both say the "
         "same";
}

// ---- before and after another one is written ----

result<void> may_set_max_ttl(const std::shared_ptr<cluster>& c, duration max_ttl,
                             std::string_view verb, bool shortens) {
  // For recover it is no reason to leave a store as it is: others may have another URL.
  if (const auto misfit = ttl_above(c->set(), max_ttl); verb == "init" && !misfit.empty()) {
    return error(errc::invalid_argument, misfit + ". Take a shorter ttl in it, or --max-ttl " +
                                             print_duration(*c->set().ttl) +
                                             " or more; nothing was written");
  }
  return shortens ? long_sessions_ended(c, max_ttl) : result<void>();
}

result<void> long_sessions_ended(const std::shared_ptr<cluster>& c, duration max_ttl) {
  const auto found = look_for_long_sessions(c, max_ttl);
  if (!found) {
    return error(errc::unavailable, found.error().message() +
                                        ". A node that loses its state after the change would "
                                        "grant too early what such a one holds. Nothing was "
                                        "written");
  }
  if (found->count == 0) return {};
  return error(errc::busy, too_early(*found, max_ttl, "") +
                               ". Stop the holders first (ls --sessions names them); what is left "
                               "of one that was killed ends with its ttl. Nothing was written");
}

result<void> none_came_meanwhile(const std::shared_ptr<cluster>& c, duration max_ttl) {
  const std::string written = "max_ttl is " + print_duration(max_ttl) + " now, and ";
  const auto found = look_for_long_sessions(c, max_ttl);
  if (!found) {
    return error(errc::outcome_unknown, written + found.error().message() +
                                            ". Restart no node before all that were opened "
                                            "until now have ended");
  }
  if (found->count == 0) return {};
  return error(errc::busy, written + too_early(*found, max_ttl, " that came meanwhile") +
                               ". Stop the holders (ls --sessions names them), and restart no "
                               "node before " +
                               print_duration(found->longest) + " have passed");
}

}  // namespace holdfast::engines::redlock
