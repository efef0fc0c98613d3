#pragma once

#include "sim/schedule.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace holdfast::sim {

/// The last events of a run, kept cheaply and put into words only when somebody asks; and a digest
/// of all of them, by which two runs of one seed are compared.
class trace {
 public:
  /// `what` is a literal. A negative number is not printed.
  void note(moment t, const char* what, std::int64_t who, std::int64_t a = -1,
            std::int64_t b = -1) noexcept;
  /// The newest `lines` events, oldest first, one per line.
  std::string last(std::size_t lines) const;
  std::uint64_t digest() const noexcept { return digest_; }
  /// Prints every event to standard output as it comes.
  void print_all() noexcept { print_ = true; }

 private:
  struct line {
    moment t;
    const char* what;
    std::int64_t who;
    std::int64_t a;
    std::int64_t b;
  };
  static constexpr std::size_t kept = 256;
  static std::string words(const line& l);

  std::array<line, kept> ring_{};
  std::uint64_t count_{};
  std::uint64_t digest_{0xcbf29ce484222325U};
  bool print_{};
};

/// "12.345678901 s", for reports.
std::string print_moment(moment t);

}  // namespace holdfast::sim
