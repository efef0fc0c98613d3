#include "engines/redlock/stages.hpp"

#include "core/assert.hpp"
#include "io/loop.hpp"

#include <utility>

namespace holdfast::engines::redlock {

namespace {

/// Long enough for memory to answer, and not so long that it is gone again.
constexpr std::size_t ahead = 2;

constexpr std::array all{stage::lock_is_free, stage::round_ended};

}  // namespace

bool stages::gathers() const noexcept { return loop_.on_thread() && is_gathering_; }

void stages::add(stage s, std::shared_ptr<staged> who) {
  HOLDFAST_ASSERT(gathers());
  waiting_[static_cast<std::size_t>(s)].push_back(std::move(who));
}

void stages::end() {
  is_gathering_ = false;
  for (const stage s : all) run(s);
}

void stages::run(stage s) {
  running_.swap(waiting_[static_cast<std::size_t>(s)]);
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (i + ahead < running_.size()) running_[i + ahead]->fetch();
    running_[i]->run();
  }
  running_.clear();
}

}  // namespace holdfast::engines::redlock
