#include "engines/redlock/long_sessions.hpp"

#include "engines/redlock/listing.hpp"
#include "io/thread/latch.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

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
