#include "io/one_write.hpp"

#include "core/assert.hpp"

#include <algorithm>

namespace holdfast::io {

namespace {

thread_local one_write* current = nullptr;

}  // namespace

one_write::one_write() noexcept : outermost_(current == nullptr) {
  if (outermost_) current = this;
}

one_write::~one_write() {
  if (!outermost_) return;
  current = nullptr;
  for (const auto& [stream, flush] : streams_) flush();
}

bool one_write::gathers() noexcept { return current != nullptr; }

void one_write::add(const void* stream, std::function<void()> flush) {
  HOLDFAST_ASSERT(current != nullptr);
  auto& all = current->streams_;
  const bool known = std::ranges::any_of(all, [&](const auto& s) { return s.first == stream; });
  if (!known) all.emplace_back(stream, std::move(flush));
}

}  // namespace holdfast::io
