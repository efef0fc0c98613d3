#include "tests/redis_server/witness.hpp"

namespace holdfast::redis_tests {

std::uint64_t witness::begins(const lock& l) {
  const std::lock_guard hold(mutex_);
  if (!l.check()) return 0;
  const std::uint64_t t = l.token().value;
  if (tokens_ && t <= token_) {
    violations_.push_back("token " + std::to_string(t) + " was granted after " +
                          std::to_string(token_));
  }
  if (!tokens_ && t != 0) violations_.push_back("token " + std::to_string(t) + " without tokens");
  token_ = t;
  return ++youngest_;
}

bool witness::still(std::uint64_t holder, const lock& l) {
  const std::lock_guard hold(mutex_);
  if (!l.check()) return false;
  if (holder == youngest_) return true;
  violations_.push_back("holder " + std::to_string(holder) + " still holds, " +
                        std::to_string(youngest_) + " has begun");
  return false;
}

std::uint64_t witness::grants() const {
  const std::lock_guard hold(mutex_);
  return youngest_;
}

std::vector<std::string> witness::violations() const {
  const std::lock_guard hold(mutex_);
  return violations_;
}

}  // namespace holdfast::redis_tests
