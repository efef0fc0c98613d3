#include "client/left_alone.hpp"

#include <atomic>
#include <utility>

namespace holdfast::client {

namespace {

struct link {
  std::shared_ptr<const void> kept;
  link* next;
};

// No mutex: in the child of a fork, one that another thread had would stay locked for ever.
constinit std::atomic<link*> newest{};

}  // namespace

void leave_alone(std::shared_ptr<const void> what) noexcept {
  auto* const added = new link{std::move(what), newest.load()};
  while (!newest.compare_exchange_weak(added->next, added)) {
  }
}

}  // namespace holdfast::client
