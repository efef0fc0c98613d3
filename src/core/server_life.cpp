#include "core/server_life.hpp"

namespace holdfast::core {

namespace {

constexpr char before_data = '#';

}  // namespace

std::string server_life(std::string_view run_id, std::string_view promoted_as) {
  std::string life(run_id);
  if (!promoted_as.empty()) life.append(1, before_data).append(promoted_as);
  return life;
}

std::string_view process_of(std::string_view life) noexcept {
  return life.substr(0, life.find(before_data));
}

bool is_same_life(std::string_view recorded, std::string_view seen) noexcept {
  return recorded == seen || seen == process_of(recorded);
}

}  // namespace holdfast::core
