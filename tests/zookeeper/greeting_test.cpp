#include "io/net/peer_fixture.hpp"
#include "tests/zookeeper/engine_fixture.hpp"

#include <sys/socket.h>

#include <cstddef>
#include <thread>

/// A real server's first bytes, in more than one segment.

namespace holdfast::zookeeper_tests {
namespace {

/// Passes one connection on to the server on this port; of what that says first, so many bytes come
/// before the others.
void pass_on(const io::peer::client& c, int port, std::size_t first) {
  const io::unique_fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return;
  std::thread back([&] {
    char bytes[65536];
    std::string_view said;
    const auto more = [&] {
      const auto count = ::recv(server.get(), bytes, sizeof bytes, 0);
      said = {bytes, count > 0 ? static_cast<std::size_t>(count) : 0};
      return !said.empty();
    };
    if (more()) {
      c.write(said.substr(0, first));
      std::this_thread::sleep_for(50ms);
      c.write(said.substr(first));
    }
    while (more()) c.write(said);
  });
  for (auto said = c.read(); !said.empty(); said = c.read()) {
    static_cast<void>(::send(server.get(), said.data(), said.size(), MSG_NOSIGNAL));
  }
  ::shutdown(server.get(), SHUT_RDWR);
  back.join();
}

TEST(zookeeper_greeting, is_taken_however_it_is_cut) {
  const servers s;
  for (const std::size_t first : {1U, 2U, 3U, 4U, 6U, 40U}) {
    io::peer way([&](const io::peer::client& c, int) { pass_on(c, s.at(0).port(), first); });
    client c("zookeeper://" + way.address().text() + "/t?node_timeout=5s");
    const auto r = c.open();
    EXPECT_EQ(r.what, status::ok) << first << ": " << r.text;
    c.servers->close();
  }
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
