#include <holdfast/mode.hpp>

namespace holdfast {

std::string mode::str() const {
  if (is_exclusive()) return "exclusive";
  if (is_shared()) return "shared";
  return "permits(" + std::to_string(limit_) + ")";
}

}  // namespace holdfast
