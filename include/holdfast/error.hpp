#pragma once

#include <holdfast/export.hpp>

#include <functional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace holdfast {

/// What went wrong, named by what the caller should do next.
enum class errc {
  busy = 1,          ///< Somebody else holds it; nothing was changed unless the function says
                     ///< otherwise. Come back later.
  timed_out,         ///< `wait` ran out while somebody else held it; nothing is held.
  cancelled,         ///< The caller cancelled; nothing is held.
  unavailable,       ///< The store did not answer or cannot work now; nothing was done. Try again.
  outcome_unknown,   ///< It may or may not have happened; assume neither until one ttl has passed.
  lost,              ///< The lease is over: stop the protected work now, open a new session.
  denied,            ///< An operator ended this session; it will never hold anything again.
  stale_token,       ///< The storage has seen a newer token: this writer was replaced.
  unsupported,       ///< This engine cannot give that guarantee; choose another engine or mode.
  invalid_argument,  ///< The call itself is wrong: correct it; trying again cannot help.
  damaged,           ///< Stored data is corrupt or of another format; a person has to look.
  not_initialised,   ///< The store was never set up; an operator has to: `holdfast redlock init`.
  expiring,          ///< Less than the asked time is left and the lock is held: skip this step.
  mode_conflict,     ///< The name is in use in another mode. Nothing is held; agree on one mode.
  would_block,  ///< A thread of the library must not wait: call this from a thread of yours, or
                ///< use the form with a callback.
};

/// The category of every `std::error_code` made from an `errc`; its name is "holdfast".
///
/// `errc::timed_out` equals `std::errc::timed_out`, and the values that have a counterpart there
/// (busy, cancelled, unavailable, unsupported, invalid_argument) equal that in the same way;
/// `errc::would_block` equals `std::errc::resource_deadlock_would_occur`.
HOLDFAST_EXPORT const std::error_category& category() noexcept;

/// The `std::error_code` of `e`, found by argument-dependent look-up as the standard asks.
inline std::error_code make_error_code(errc e) noexcept {
  return {static_cast<int>(e), category()};
}

/// The value's own name, for logs and JSON: "busy", "timed_out", ... Never empty.
HOLDFAST_EXPORT const char* name_of(errc e) noexcept;

/// A failure: what to do next (`code`) and what failed, on what, why, and what to do (`message`).
///
/// A message is for people. It names the store, the lock and the numbers that matter, never a
/// secret, and its wording may change: programs decide by `code`.
class HOLDFAST_EXPORT error {
 public:
  /// A failure with the general sentence of `code` as its message.
  error(errc code);  // NOLINT(google-explicit-constructor): `return errc::busy;` is the idiom.
  /// A failure with a message of its own; an empty one is replaced by the general sentence.
  error(errc code, std::string message);
  /// A failure that lasts until a person has done at the store what `message` says.
  static error for_operator(errc code, std::string message);

  /// What to do next.
  errc code() const noexcept { return code_; }
  /// What failed, on what, why, and what to do; one line, never empty.
  const std::string& message() const noexcept { return message_; }
  /// Whether a person has to act first, whatever `code` says: trying again before cannot help.
  /// True of every `damaged` and `not_initialised`, and of what the store refuses until its access
  /// or its settings are changed: a wrong password, a folder that this user may not use.
  bool needs_operator() const noexcept { return needs_operator_; }
  /// The same failure with another message.
  error reworded(std::string message) const;
  /// For interfaces that take a `std::error_code`, which does not carry the message.
  operator std::error_code() const noexcept { return make_error_code(code_); }

  /// Compares the code; messages differ with the place.
  friend bool operator==(const error& a, errc b) noexcept { return a.code_ == b; }

 private:
  errc code_;
  bool needs_operator_{};
  std::string message_;
};

namespace detail {
/// Throws `std::system_error` made of `e`; in a library built without exceptions it prints the
/// message and aborts. Out of line, so that callers may be built with -fno-exceptions.
[[noreturn]] HOLDFAST_EXPORT void throw_error(const error& e);
/// Ends the program and prints `what`: the caller used a value that is not there.
[[noreturn]] HOLDFAST_EXPORT void bad_access(const char* what) noexcept;
/// The same for the value of a result that has `e` instead, whose message it prints too.
[[noreturn]] HOLDFAST_EXPORT void no_value(const error& e) noexcept;
}  // namespace detail

namespace detail {
/// Whether what a T stands for ends with the object, as a lock does: true beside each such type.
template <class T>
inline constexpr bool has_to_be_kept = false;
}  // namespace detail

/// A value, or the reason why there is none. The names are those of std::expected (C++23). That
/// is not used, so that the library's types do not change with the language standard of its user.
///
/// |          | bool  | operator*, -> | error()          | value()                    |
/// |----------|-------|---------------|------------------|----------------------------|
/// | value    | true  | the value     | ends the program | the value                  |
/// | failure  | false | ends the program | the failure   | throws std::system_error   |
///
/// Thread safety: as a plain value. To read what is not there is a programmer's error: it prints
/// a sentence and stops the program, in release builds too.
template <class T>
class [[nodiscard]] result {
 public:
  using value_type = T;

  // Conversions, so that a function returns a value or a failure by plain `return`.
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}        // NOLINT
  result(holdfast::error e) : state_(std::in_place_index<1>, std::move(e)) {}  // NOLINT
  result(errc e) : result(holdfast::error(e)) {}                               // NOLINT

  /// Whether it is a value; the same as the conversion to bool.
  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const& noexcept { return has_value(); }
  explicit operator bool() const&& noexcept requires(!detail::has_to_be_kept<T>) {
    return has_value();
  }
  /// `if (s.try_acquire(n)) { ... }` would hold nothing inside the braces, for the lock ends with
  /// the condition. Write `if (auto l = s.try_acquire(n); l) { ... }`.
  explicit operator bool() const&& requires(detail::has_to_be_kept<T>) = delete;

  /// The failure. Valid as long as this object.
  const holdfast::error& error() const noexcept {
    if (has_value()) detail::bad_access("the error of a result that succeeded was used");
    return *std::get_if<1>(&state_);
  }

  /// The value, without exceptions: check has_value() first.
  T& operator*() & noexcept { return get(); }
  const T& operator*() const& noexcept { return get(); }
  T&& operator*() && noexcept { return std::move(get()); }
  T* operator->() noexcept { return &get(); }
  const T* operator->() const noexcept { return &get(); }

  /// The value; without one it throws `std::system_error` with the failure's code and message.
  T& value() & { return checked(); }
  const T& value() const& {
    if (!has_value()) detail::throw_error(*std::get_if<1>(&state_));
    return *std::get_if<0>(&state_);
  }
  T&& value() && { return std::move(checked()); }

 private:
  const T& get() const noexcept {
    if (!has_value()) detail::no_value(*std::get_if<1>(&state_));
    return *std::get_if<0>(&state_);
  }
  T& get() noexcept {
    if (!has_value()) detail::no_value(*std::get_if<1>(&state_));
    return *std::get_if<0>(&state_);
  }
  T& checked() {
    if (!has_value()) detail::throw_error(*std::get_if<1>(&state_));
    return *std::get_if<0>(&state_);
  }
  std::variant<T, holdfast::error> state_;
};

/// Success, or the reason for a failure; see result<T>. A default-constructed one is a success.
template <>
class [[nodiscard]] result<void> {
 public:
  using value_type = void;

  result() = default;
  result(holdfast::error e) : failure_(std::in_place_index<1>, std::move(e)) {}  // NOLINT
  result(errc e) : result(holdfast::error(e)) {}                                 // NOLINT

  /// Whether it succeeded; the same as the conversion to bool.
  bool has_value() const noexcept { return failure_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  /// The failure. Valid as long as this object.
  const holdfast::error& error() const noexcept {
    if (has_value()) detail::bad_access("the error of a result that succeeded was used");
    return *std::get_if<1>(&failure_);
  }

  /// Returns on success, else throws `std::system_error`.
  void value() const {
    if (!has_value()) detail::throw_error(*std::get_if<1>(&failure_));
  }

 private:
  std::variant<std::monostate, holdfast::error> failure_;
};

namespace detail {
template <class T>
struct as_result {
  using type = result<T>;
};
template <class T>
struct as_result<result<T>> {
  using type = result<T>;
};
/// result<T> for a function that returns T, and for one that returns result<T>.
template <class T>
using as_result_t = typename as_result<std::remove_cvref_t<T>>::type;

template <class F, class... A>
auto call_for_result(F&& f, A&&... a) -> as_result_t<std::invoke_result_t<F, A...>> {
  if constexpr (std::is_void_v<std::invoke_result_t<F, A...>>) {
    std::invoke(std::forward<F>(f), std::forward<A>(a)...);
    return {};
  } else {
    return std::invoke(std::forward<F>(f), std::forward<A>(a)...);
  }
}
}  // namespace detail

}  // namespace holdfast

template <>
struct std::is_error_code_enum<holdfast::errc> : std::true_type {};
