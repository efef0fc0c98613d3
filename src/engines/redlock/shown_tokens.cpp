#include "engines/redlock/shown_tokens.hpp"

#include <utility>

namespace holdfast::engines::redlock {

token shown_tokens::of(const std::string& value, token now) const {
  const io::held_mutex hold(mutex_);
  const auto before = shown_.find(value);
  // Zero: no node gave it then.
  return before == shown_.end() || before->second.value == 0 ? now : before->second;
}

void shown_tokens::replace(by_value shown) {
  const io::held_mutex hold(mutex_);
  shown_ = std::move(shown);
}

}  // namespace holdfast::engines::redlock
