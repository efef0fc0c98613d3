#pragma once

#include <locale>
#include <string>

namespace holdfast::tests {

/// While it lives the program's C++ locale writes 1234567 as "1,234,567", which is what
/// std::locale::global(std::locale("en_US.UTF-8")) does where that is installed.
class grouping_locale {
 public:
  grouping_locale() = default;
  grouping_locale(const grouping_locale&) = delete;
  grouping_locale& operator=(const grouping_locale&) = delete;
  ~grouping_locale() { std::locale::global(before_); }

 private:
  struct by_three : std::numpunct<char> {
    char do_thousands_sep() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale before_{std::locale::global(std::locale(std::locale::classic(), new by_three))};
};

}  // namespace holdfast::tests
