#include "io/grpc/grpc_calls.hpp"

#include <algorithm>

namespace holdfast::io {

std::unique_ptr<grpc_calls> grpc_calls::make(std::int32_t first_stream, duration silence_max) {
  std::unique_ptr<grpc_calls> made(new grpc_calls(silence_max));
  made->session_ = http2_session::make(*made, first_stream);
  return made->session_ ? std::move(made) : nullptr;
}

// ---- calls ----

bool grpc_calls::begin(std::unique_ptr<grpc_call>& c, const http2_session::head& h) {
  const auto number = session_->submit(h);
  if (number < 0) {
    if (!is_leaving()) why_leaves_ = used_up;
    return false;
  }
  if (c->deadline != time_point::max()) deadlines_.emplace(c->deadline, number);
  ids_.emplace(c->id, number);
  calls_.emplace(number, std::move(c));
  return true;
}

void grpc_calls::send(std::uint64_t id, std::string_view message) {
  const auto found = ids_.find(id);
  if (found == ids_.end()) return;
  auto& c = *calls_.at(found->second);
  wire::put_grpc_message(c.out, message);
  if (std::exchange(c.deferred, false)) session_->resume(found->second);
}

void grpc_calls::cancel(std::uint64_t id) {
  const auto found = ids_.find(id);
  if (found == ids_.end()) return;
  const auto number = found->second;
  forget(number);
  session_->reset(number);
}

grpc_call* grpc_calls::find(std::int32_t number) {
  const auto found = calls_.find(number);
  return found == calls_.end() ? nullptr : found->second.get();
}

std::unique_ptr<grpc_call> grpc_calls::forget(std::int32_t number) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return {};
  auto c = std::move(found->second);
  calls_.erase(found);
  ids_.erase(c->id);
  deadlines_.erase({c->deadline, number});
  return c;
}

// ---- bytes ----

void grpc_calls::receive(std::string_view bytes) {
  silence_.heard();
  session_->receive(bytes);
}

std::optional<std::string_view> grpc_calls::take() {
  const auto bytes = session_->take();
  if (bytes) taken_ += bytes->size();
  return bytes;
}

void grpc_calls::goes_away() {
  if (!is_leaving()) why_leaves_ = "it goes away (GOAWAY)";
}

void grpc_calls::sends_head(std::int32_t number) {
  if (auto* c = find(number)) c->place = taken_;
}

std::size_t grpc_calls::body(std::int32_t number, std::span<std::uint8_t> room, bool& ends,
                             bool& waits) {
  auto* c = find(number);
  if (c == nullptr) return ends = true, 0;
  return c->take_body(room, ends, waits);
}

void grpc_calls::header(std::int32_t number, std::string_view name, std::string_view value) {
  if (auto* c = find(number)) c->take_header(name, value);
}

bool grpc_calls::data(std::int32_t number, std::string_view bytes) {
  auto* c = find(number);
  if (c == nullptr) return true;
  c->in.feed(bytes);
  while (const auto m = c->in.next()) {
    if (c->took) {
      news_.push_back({c->id, std::string(*m)});
    } else {
      c->message = *m;
      c->has_message = true;
    }
  }
  if (c->in.failure() == nullptr) return true;
  c->text = c->in.failure();
  return false;
}

void grpc_calls::closed(std::int32_t number, bool refused, std::string_view why) {
  auto* c = find(number);
  if (c == nullptr) return;
  if (c->text.empty()) c->text = why;
  // Any status is an answer. A stream that ended without one says nothing.
  if (c->status) silence_.answered();
  if (refused) silence_.refused();
  ended_.push_back({forget(number), refused});
}

// ---- telling ----

bool grpc_calls::tell(const std::string& server) {
  const auto ended = std::exchange(ended_, {});
  for (const auto& m : std::exchange(news_, {})) {
    const auto found = ids_.find(m.id);
    if (found != ids_.end()) {
      const auto took = calls_.at(found->second)->took;
      took(m.text);
      continue;
    }
    // Messages of a stream that has ended in the same bytes come first.
    for (const auto& e : ended) {
      if (e.call && e.call->id == m.id) e.call->took(m.text);
    }
  }
  bool is_answered = false;
  for (const auto& e : ended) {
    if (!e.call) continue;
    is_answered = is_answered || e.call->status;
    e.call->end(e.refused, server);
  }
  return is_answered;
}

time_point grpc_calls::due() const {
  return deadlines_.empty() ? silence_.due() : std::min(deadlines_.begin()->first, silence_.due());
}

std::vector<std::unique_ptr<grpc_call>> grpc_calls::take_late(time_point now,
                                                              std::uint64_t handed) {
  std::vector<std::unique_ptr<grpc_call>> late;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto number = deadlines_.begin()->second;
    late.push_back(forget(number));
    silence_.late(late.back()->place < handed);
    // So that the server need not go on with it; it may have been done all the same.
    session_->reset(number);
  }
  return late;
}

void grpc_calls::end_streams(const std::string& why) {
  std::vector<std::int32_t> streams;
  for (const auto& [number, c] : calls_) {
    if (c->took) streams.push_back(number);
  }
  for (const auto number : streams) {
    const auto c = forget(number);
    if (!c) continue;  // Whoever was told of an earlier one has cancelled it.
    session_->reset(number);
    c->tell(grpc_outcome::kind::unknown, why);
  }
}

std::vector<std::unique_ptr<grpc_call>> grpc_calls::take_all() {
  std::vector<std::unique_ptr<grpc_call>> all;
  for (auto& [number, c] : calls_) all.push_back(std::move(c));
  calls_.clear();
  ids_.clear();
  deadlines_.clear();
  return all;
}

}  // namespace holdfast::io
