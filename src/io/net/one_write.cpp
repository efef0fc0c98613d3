#include "io/net/one_write.hpp"

#include "core/assert.hpp"
#include "io/thread/background.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace holdfast::io {

namespace {

thread_local one_write* current = nullptr;

/// Nodes of a Redlock.
constexpr std::size_t usual_writers = 8;

}  // namespace

one_write::one_write() noexcept : gathers_(current == nullptr && !on_library_thread()) {
  if (gathers_) current = this;
}

one_write::~one_write() {
  if (!gathers_) return;
  current = nullptr;
  for (const auto& w : writers_) w->flush();
}

bool one_write::gathers() noexcept { return current != nullptr; }

void one_write::add(std::shared_ptr<writer> w) {
  HOLDFAST_ASSERT(current != nullptr);
  auto& all = current->writers_;
  if (all.empty()) all.reserve(usual_writers);
  if (std::ranges::find(all, w) == all.end()) all.push_back(std::move(w));
}

}  // namespace holdfast::io
