#pragma once

#include <holdfast/session.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <ostream>
#include <string>

namespace holdfast::conformance {

/// A store of one engine for the tests of what a program may do on threads of the library.
struct callback_store {
  std::string name;
  std::function<std::string()> url;  ///< For each test; may be of a fresh store.
};

inline void PrintTo(const callback_store& s, std::ostream* out) { *out << s.name; }

/// What runs on a thread of the library (completions, observers, what hears of a loss) may end its
/// own session and its store, and never hangs, whatever it calls. A program that has these tests
/// says with which stores.
class library_threads : public testing::TestWithParam<callback_store> {
 protected:
  library_threads() : url_(GetParam().url()) {}

  const std::string& url() const { return url_; }
  session open(session_options options = {}) const;
  /// Somebody else's; once it is released, whoever waits is granted on a thread of the library.
  static lock held_by(session& other, const std::string& name);
  /// `s` waits for "a" and is granted it on a thread of the library; comes when its completion has
  /// run.
  std::future<void> grant_late(session& s) const;
  /// A fresh session opens, and whoever awaits this name gets it.
  void expect_it_goes_on(const std::string& name) const;

 private:
  const std::string url_;
};

inline std::string name_of_store(const testing::TestParamInfo<callback_store>& info) {
  return info.param.name;
}

}  // namespace holdfast::conformance
