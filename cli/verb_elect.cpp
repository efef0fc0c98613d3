#include "cli/hold.hpp"
#include "cli/verbs.hpp"

namespace holdfast::cli {

int verb_elect(const std::vector<std::string>& after_verb) {
  return hold_and_run(after_verb, held_as::leadership);
}

}  // namespace holdfast::cli
