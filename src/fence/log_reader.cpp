#include "core/assert.hpp"
#include "fence/log_ground.hpp"
#include "fence/log_view.hpp"

#include <holdfast/log_reader.hpp>

#include <utility>

namespace holdfast {

log_reader::log_reader(std::unique_ptr<fencing::log_view> view) noexcept : view_(std::move(view)) {}
log_reader::log_reader(log_reader&& other) noexcept = default;
log_reader& log_reader::operator=(log_reader&& other) noexcept = default;
log_reader::~log_reader() = default;

result<log_reader> log_reader::open(const std::string& directory, const reader_options& options) {
  auto on = fencing::real_ground(directory, io::absent::refuse);
  if (!on) return on.error();
  auto view = fencing::log_view::open(std::move(*on), options);
  if (!view) return view.error();
  return log_reader(std::move(*view));
}

result<std::optional<log_record>> log_reader::next() {
  HOLDFAST_ASSERT(view_ != nullptr);
  return view_->next();
}
result<std::uint64_t> log_reader::skip() {
  HOLDFAST_ASSERT(view_ != nullptr);
  return view_->skip();
}
record_number log_reader::position() const noexcept {
  HOLDFAST_ASSERT(view_ != nullptr);
  return {view_->position()};
}

}  // namespace holdfast
