#pragma once

#include <utility>
#include <variant>

namespace holdfast::cli {

/// A value, or the exit code of the program, which has said by then what is wrong.
template <class T>
class [[nodiscard]] or_exit {
 public:
  or_exit(T value) : inside_(std::in_place_index<0>, std::move(value)) {}
  or_exit(int code) : inside_(std::in_place_index<1>, code) {}

  explicit operator bool() const noexcept { return inside_.index() == 0; }
  /// Only where there is no value.
  int code() const { return std::get<1>(inside_); }

  /// Only where there is one.
  T& operator*() & { return std::get<0>(inside_); }
  const T& operator*() const& { return std::get<0>(inside_); }
  T&& operator*() && { return std::get<0>(std::move(inside_)); }
  T* operator->() { return &std::get<0>(inside_); }
  const T* operator->() const { return &std::get<0>(inside_); }

 private:
  std::variant<T, int> inside_;
};

}  // namespace holdfast::cli
