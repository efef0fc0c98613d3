#pragma once

#include "tests/etcd/server.hpp"

#include <holdfast/lock.hpp>
#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace holdfast::etcd_tests {

using namespace std::chrono_literals;

/// Elects quickly, as far as the machine lets it.
inline const server_options quick{
    .flags = {"--heartbeat-interval=50", "--election-timeout=500"}, .tls = false, .data_in = {}};

/// A session; again and again until the cluster lets one be opened.
inline session join(const std::string& url) {
  std::string why;
  std::optional<session> made;
  static_cast<void>(process::eventually(
      [&] {
        auto opened = open(url);
        if (opened) {
          made.emplace(std::move(*opened));
        } else {
          why = opened.error().message();
        }
        return opened.has_value();
      },
      60s));
  if (!made) throw std::runtime_error(why);
  return *std::move(made);
}

/// A lock and the session that it belongs to.
struct holding {
  std::unique_ptr<session> by;
  std::optional<lock> held;
};

/// Gets the lock, with a new session when one is lost on the way.
inline holding take(const std::string& url, const std::string& name) {
  const auto end = clock::now() + 90s;
  std::string why;
  while (clock::now() < end) {
    holding h{.by = std::make_unique<session>(join(url)), .held = {}};
    auto l = h.by->acquire(lock_name(name), {.wait = 60s});
    if (l) {
      h.held.emplace(std::move(*l));
      return h;
    }
    why = l.error().message();
  }
  throw std::runtime_error("nobody gets '" + name + "': " + why);
}

/// Gives all of it back.
inline void give_back(holding h) {
  EXPECT_TRUE(process::eventually([&] {
    auto closed = h.by->close();
    return closed || closed.error() == errc::lost;
  }));
}

/// A newcomer gets the lock with a larger token than `last`; then nothing is left in the store.
inline void expect_clean(const std::string& url, const std::string& name, token last = {}) {
  {
    auto h = take(url, name);
    EXPECT_GT(h.held->token().value, last.value);
    give_back(std::move(h));
  }
  auto s = store::open(url);
  ASSERT_TRUE(s) << s.error().message();
  std::string left;
  EXPECT_TRUE(process::eventually([&] {
    const auto all = s->list();
    if (!all) return left = all.error().message(), false;
    left.clear();
    for (const auto& l : all->locks) left += "lock " + l.name.printable() + "; ";
    for (const auto& one : all->sessions) left += "session " + one.id.str() + "; ";
    return left.empty();
  })) << left;
}

}  // namespace holdfast::etcd_tests
