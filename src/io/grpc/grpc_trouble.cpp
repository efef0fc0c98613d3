#include "io/grpc/grpc_trouble.hpp"

#include <chrono>
#include <string_view>
#include <utility>

namespace holdfast::io {

namespace {

constexpr const char* plain_question =
    "; is this etcd's port for clients, and does it want TLS (+tls)?";
constexpr const char* encrypted_question =
    "; does it speak TLS on this port, and does it accept our certificate?";

std::string in_ms(duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(d).count()) + " ms";
}

}  // namespace

error gone_unheard(const error& why, bool encrypted) {
  const auto was = [&](const char* how) { return why.message().starts_with(how); };
  if (!was("the server closed") && !was("the connection broke")) return why;
  return error(why.code(), why.message() + " before anything was said" +
                               (encrypted ? encrypted_question : plain_question));
}

error unreadable_http2(const std::string& why, bool greeted) {
  const std::string text = "it sent what is no HTTP/2";
  // What a library says of bytes that never were HTTP/2 would only mislead.
  if (!greeted) return error::for_operator(errc::unavailable, text + plain_question);
  return error(errc::unavailable, text + ": " + why);
}

error never_ready(duration after, bool encrypted) {
  const char* why =
      encrypted ? "it does not speak TLS on this port" : "it does not speak HTTP/2 without TLS";
  return error(errc::timed_out,
               "it is not ready " + in_ms(after) + " after connecting began; it hangs, or " + why);
}

error fell_silent(duration after) {
  return error(errc::unavailable, "it sent nothing for " + in_ms(after) +
                                      " while answers were due; it hangs, or the network lost it");
}

error takes_no_calls(duration after) {
  return error(errc::unavailable, "it has taken no call for " + in_ms(after) +
                                      ", though it is there; has it, or a proxy, a limit?");
}

error reads_nothing() {
  return error(errc::unavailable, "it asks and does not take the answers; it hangs");
}

}  // namespace holdfast::io
