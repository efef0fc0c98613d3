#include "io/redis/redis_trouble.hpp"

#include "io/net/tls_failure.hpp"

#include <chrono>

namespace holdfast::io::redis_trouble {

namespace {

std::string milliseconds_in(duration d) {
  using std::chrono::milliseconds;
  return std::to_string(std::chrono::duration_cast<milliseconds>(d).count()) + " ms";
}

}  // namespace

error not_yet(duration limit) {
  return {errc::unavailable, "not connected yet; the first try is given " + milliseconds_in(limit)};
}

error ended_early(const error& why, bool tls) {
  if (is_tls_failure(why)) return why;
  const char* question =
      tls ? "does it accept this client's certificate?" : "does it want TLS (+tls)?";
  return {why.code(), why.message() +
                          ", before the handshake was done; is it Redis, is this its port, and " +
                          question};
}

error not_ready(duration limit, bool tls) {
  // A server without TLS waits for the end of what it takes for a line.
  const char* why =
      tls ? "it does not speak TLS on this port" : "a firewall drops what is sent to it";
  return {errc::unavailable,
          "it is not ready " + milliseconds_in(limit) +
              " after connecting began; it hangs, this machine is too busy, or " + why};
}

error silent(duration limit) {
  return {errc::unavailable, "it answered nothing for " + milliseconds_in(limit) +
                                 " while commands were waiting; it hangs, or the network lost it"};
}

error too_much(std::size_t unanswered, std::size_t unsent_bytes) {
  return {errc::unavailable, "it does not keep up: " + std::to_string(unanswered) +
                                 " commands are unanswered and " + std::to_string(unsent_bytes) +
                                 " bytes are not sent; nothing more is queued"};
}

error no_resp(const std::string& failure, bool greeted, bool tls) {
  std::string text = "it sent what is no RESP: " + failure;
  if (!greeted)
    text += tls ? "; is this its port?" : "; is this its port, and does it want TLS (+tls)?";
  return {errc::unavailable, std::move(text)};
}

}  // namespace holdfast::io::redis_trouble
