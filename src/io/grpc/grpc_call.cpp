#include "io/grpc/grpc_call.hpp"

#include <algorithm>

namespace holdfast::io {

using kind = grpc_outcome::kind;

std::size_t grpc_call::take_body(std::span<std::uint8_t> room, bool& ends, bool& waits) {
  const auto left = std::string_view(out).substr(out_at);
  const auto count = std::min(room.size(), left.size());
  std::copy_n(left.begin(), count, room.begin());
  out_at += count;
  if (out_at == out.size()) {
    out.clear();
    out_at = 0;
    ends = half_closes;
    waits = deferred = !ends && count == 0;
  }
  return count;
}

void grpc_call::take_header(std::string_view name, std::string_view value) {
  if (name == ":status") http_status = wire::grpc_status(value).value_or(0);
  if (name == "grpc-status") status = wire::grpc_status(value);
  if (name == "grpc-message") text = wire::grpc_text(value);
}

void grpc_call::tell(grpc_outcome::kind what, const std::string& why) const {
  done({.what = what, .status = 0, .message = {}, .text = why});
}

void grpc_call::end(bool refused, const std::string& server) const {
  grpc_outcome o;
  std::string why;
  if (status) {
    o.what = kind::answered;
    o.status = *status;
    o.message = message;
    // What it did is not known: an answer of ours always has a message.
    if (o.status == 0 && !took && !has_message) {
      o.what = kind::unknown;
      why = "it answered without a message";
    } else if (o.status != 0) {
      why = text.empty() ? "gRPC status " + std::to_string(o.status) : text;
    }
  } else if (refused) {
    o.what = kind::not_sent;
    why = "it refused the call: " + text;
  } else {
    o.what = kind::unknown;
    why = http_status != 0 && http_status != 200
              ? "it answered with HTTP status " + std::to_string(http_status) +
                    "; is this etcd's port for clients?"
              : text;
  }
  const std::string told = why.empty() ? why : server + why;
  o.text = told;
  done(o);
}

std::string grpc_timeout(duration left) {
  const auto ms = std::max<std::int64_t>(
      1, std::chrono::duration_cast<std::chrono::milliseconds>(left).count());
  // At most eight digits.
  return std::to_string(std::min<std::int64_t>(ms, 99'999'999)) + "m";
}

}  // namespace holdfast::io
