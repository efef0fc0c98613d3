#pragma once

#include <netinet/in.h>

#include <cstdint>

namespace holdfast::process {

/// 127.0.0.1 with this port; zero: one that the kernel chooses.
inline sockaddr_in loopback(int port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

}  // namespace holdfast::process
