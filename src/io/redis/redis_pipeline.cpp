#include "io/redis/redis_pipeline.hpp"

#include <utility>

namespace holdfast::io {

namespace {

/// As much as a stream sends before the turn is over.
constexpr std::size_t outbox_bytes = stream::worth_sending;

redis_request request_of(const redis_pipeline::command& c, std::uint64_t place) {
  return {.receiver = c.receiver,
          .tag = c.tag,
          .deadline = c.deadline,
          .place = place,
          .subscribes = c.subscribes,
          .expired = false};
}

}  // namespace

void redis_pipeline::open(std::shared_ptr<stream> to) {
  const held_mutex hold(mutex_);
  stream_ = std::move(to);
}

std::vector<redis_request> redis_pipeline::end(std::uint64_t handed) {
  {
    const held_mutex hold(mutex_);
    take_inbox();
    outbox_.take().clear();
    behind_.take(requests_, handed);
    stream_ = nullptr;
  }
  auto left = requests_.take_all();
  counts_.done(left.size());
  return left;
}

// ---- sending ----

redis_pipeline::taking redis_pipeline::send_elsewhere(const command& c) {
  std::shared_ptr<stream> to;
  {
    const held_mutex hold(mutex_);
    if (!stream_) return taking::closed;
    if (is_full(c, stream_->backlog() + behind_.size())) return taking::full;
    counts_.sent_elsewhere();
    if (outbox_.waits()) {
      behind_.add(request_of(c, 0), c.bytes);
      return taking::taken;
    }
    inbox_.push_back(request_of(c, stream_->append(c.bytes)));
    to = stream_;
  }
  to->flush();
  return taking::taken;
}

redis_pipeline::taking redis_pipeline::send_here(const command& c) {
  // What another thread has sent since stands before it.
  if (behind_.waits()) empty_outbox();
  const bool is_first = outbox_.empty();
  // It shrinks only when the turn is over, or by what other threads send.
  if (is_first) backlog_here_ = stream_->backlog();
  if (is_full(c, backlog_here_ + outbox_.size())) return taking::full;
  if (is_first) begin_outbox();
  requests_.add(request_of(c, outbox_.add(c.bytes)));
  counts_.sent_here();
  const bool is_much = outbox_.size() >= outbox_bytes;
  if (is_much) empty_outbox();
  if (is_first || is_much) stream_->flush();
  return taking::taken;
}

bool redis_pipeline::is_full(const command& c, std::size_t queued_bytes) const noexcept {
  const std::size_t share = c.may_fill ? 1 : 2;
  return counts_.unanswered() * share >= limits_.unanswered ||
         (queued_bytes + c.bytes.size()) * share > limits_.queued_bytes;
}

// From here on what other threads send stays behind it.
void redis_pipeline::begin_outbox() {
  const held_mutex hold(mutex_);
  take_inbox();
  outbox_.begin(stream_->appended());
}

void redis_pipeline::empty_outbox() {
  if (outbox_.empty()) return;
  const held_mutex hold(mutex_);
  stream_->append_all(outbox_.take());
  if (!behind_.empty()) behind_.take(requests_, stream_->append(behind_.text()));
}

void redis_pipeline::take_inbox() {
  for (auto& r : inbox_) requests_.add(std::move(r));
  inbox_.clear();
}

void redis_pipeline::take_inbox_now() {
  const held_mutex hold(mutex_);
  take_inbox();
}

// ---- answers ----

std::vector<redis_request> redis_pipeline::take_due(time_point now) {
  // Nothing that was sent may be overlooked: whoever looks asks for the next deadline only.
  empty_outbox();
  take_inbox_now();
  return requests_.take_due(now);
}

std::size_t redis_pipeline::backlog() const {
  const held_mutex hold(mutex_);
  return stream_ ? stream_->backlog() : 0;
}

}  // namespace holdfast::io
