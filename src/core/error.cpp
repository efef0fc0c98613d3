#include <holdfast/error.hpp>

#include "core/assert.hpp"

namespace holdfast {

namespace {

struct wording {
  const char* name;
  const char* sentence;
};

wording words(errc e) noexcept {
  switch (e) {
    case errc::busy:
      return {"busy", "it is held; nothing was changed"};
    case errc::timed_out:
      return {"timed_out", "the wait ran out while somebody else held it"};
    case errc::cancelled:
      return {"cancelled", "cancelled by the caller; nothing is held"};
    case errc::unavailable:
      return {"unavailable", "the store cannot answer now; nothing was done, try again"};
    case errc::outcome_unknown:
      return {"outcome_unknown", "it may or may not have happened; assume neither for one ttl"};
    case errc::lost:
      return {"lost", "the lease is over; stop the protected work and open a new session"};
    case errc::denied:
      return {"denied", "an operator ended this session; it will never hold anything again"};
    case errc::stale_token:
      return {"stale_token", "the storage has seen a newer token; this writer was replaced"};
    case errc::unsupported:
      return {"unsupported", "this engine cannot give that guarantee; choose another engine"};
    case errc::invalid_argument:
      return {"invalid_argument", "the call is wrong; trying again cannot help"};
    case errc::damaged:
      return {"damaged", "stored data is corrupt or of another format; a person has to look"};
    case errc::not_initialised:
      return {"not_initialised", "the store was never set up; run: holdfast redlock init"};
    case errc::expiring:
      return {"expiring", "the lock is held, but less than the asked time is left; skip this step"};
    case errc::mode_conflict:
      return {"mode_conflict", "the name is in use in another mode; agree on one mode"};
    case errc::would_block:
      return {"would_block", "a thread of the library must not wait; use another, or a callback"};
  }
  return {"unknown", "an error code that is not one of holdfast's"};
}

class holdfast_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "holdfast"; }

  std::string message(int value) const override { return words(static_cast<errc>(value)).sentence; }

  std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<errc>(value)) {
      case errc::busy:
        return std::errc::device_or_resource_busy;
      case errc::timed_out:
        return std::errc::timed_out;
      case errc::cancelled:
        return std::errc::operation_canceled;
      case errc::unavailable:
        return std::errc::resource_unavailable_try_again;
      case errc::unsupported:
        return std::errc::not_supported;
      case errc::invalid_argument:
        return std::errc::invalid_argument;
      case errc::would_block:
        // What is waited for would need the thread that waits.
        return std::errc::resource_deadlock_would_occur;
      default:
        return {value, *this};
    }
  }
};

}  // namespace

const std::error_category& category() noexcept {
  static const holdfast_category instance;
  return instance;
}

const char* name_of(errc e) noexcept { return words(e).name; }

error::error(errc code) : error(code, std::string()) {}

error::error(errc code, std::string message)
    : code_(code),
      // Programs that go by needs_operator() would try again for ever: neither mends itself.
      needs_operator_(code == errc::damaged || code == errc::not_initialised),
      message_(std::move(message)) {
  if (message_.empty()) message_ = words(code).sentence;
}

error error::for_operator(errc code, std::string message) {
  error e(code, std::move(message));
  e.needs_operator_ = true;
  return e;
}

error error::reworded(std::string message) const {
  return needs_operator_ ? for_operator(code_, std::move(message))
                         : error(code_, std::move(message));
}

namespace detail {

void throw_error(const error& e) {
#if defined(__cpp_exceptions)
  throw std::system_error(make_error_code(e.code()), e.message());
#else
  core::fail(e.message().c_str());
#endif
}

void bad_access(const char* what) noexcept { core::fail(what); }

void no_value(const error& e) noexcept {
  const std::string text = "the value of a failed result was used; it failed with " +
                           std::string(name_of(e.code())) + ": " + e.message();
  core::fail(text.c_str());
}

}  // namespace detail

}  // namespace holdfast
