#pragma once

#include "io/net/node_address.hpp"
#include "tests/redis_server/server.hpp"

namespace holdfast::redis_tests {

inline io::node_address address_of(const server& s) {
  return {.host = "127.0.0.1", .port = static_cast<std::uint16_t>(s.port()), .path = {}};
}

}  // namespace holdfast::redis_tests
