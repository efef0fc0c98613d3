#include <holdfast/observer.hpp>
#include <holdfast/snapshot.hpp>
#include <holdfast/store.hpp>
#include <holdfast/version.hpp>

namespace holdfast {

observer::~observer() = default;

const char* name_of(session_state s) noexcept {
  switch (s) {
    case session_state::attached:
      return "attached";
    case session_state::endangered:
      return "endangered";
    case session_state::expired:
      return "expired";
    case session_state::denied:
      return "denied";
    case session_state::closed:
      return "closed";
  }
  return "unknown";
}

const char* name_of(loss_cause c) noexcept {
  switch (c) {
    case loss_cause::expired:
      return "expired";
    case loss_cause::denied:
      return "denied";
    case loss_cause::closed:
      return "closed";
  }
  return "unknown";
}

const char* name_of(life l) noexcept {
  switch (l) {
    case life::unknown:
      return "unknown";
    case life::alive:
      return "alive";
    case life::dead:
      return "dead";
  }
  return "unknown";
}

const char* name_of(severity s) noexcept {
  switch (s) {
    case severity::good:
      return "good";
    case severity::warning:
      return "warning";
    case severity::fault:
      return "fault";
  }
  return "unknown";
}

const char* version() noexcept {
  static_assert(HOLDFAST_VERSION == 100, "keep the text in step with the macro");
  return "0.1.0";
}

}  // namespace holdfast
