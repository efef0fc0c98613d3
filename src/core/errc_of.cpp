#include "core/errc_of.hpp"

#include "core/assert.hpp"

namespace holdfast::core {

errc errc_of(status s) noexcept {
  HOLDFAST_ASSERT(s != status::ok);
  switch (s) {
    case status::ok:
    case status::stale_gate:
    case status::too_many:
    case status::unavailable:
      return errc::unavailable;
    // Somebody else holds it, or acted on it first; the store answered and changed nothing.
    case status::queued:
    case status::busy:
    case status::changed:
      return errc::busy;
    case status::gone:
      return errc::lost;
    case status::denied:
      return errc::denied;
    case status::conflicting:
      return errc::mode_conflict;
    case status::unsupported:
      return errc::unsupported;
    case status::invalid:
      return errc::invalid_argument;
    case status::unknown:
      return errc::outcome_unknown;
    case status::damaged:
      return errc::damaged;
    case status::not_initialised:
      return errc::not_initialised;
  }
  return errc::unavailable;
}

}  // namespace holdfast::core
