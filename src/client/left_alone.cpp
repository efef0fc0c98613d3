#include "client/left_alone.hpp"

#include <atomic>
#include <utility>

namespace holdfast::client {

namespace {

struct link {
  std::shared_ptr<const void> kept;
  link* next;
};

constinit std::atomic<link*> newest{};

}  // namespace

void leave_alone(std::shared_ptr<const void> what) noexcept {
  auto* const added = new link{std::move(what), newest.load()};
  while (!newest.compare_exchange_weak(added->next, added)) {
  }
}

}  // namespace holdfast::client
