#include "io/grpc/grpc_peer_fixture.hpp"
#include "tests/etcd/client_fixture.hpp"
#include "tests/etcd/engine_fixture.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>

/// Real answers, but for those of a server that refuses by itself what others take.

namespace holdfast::etcd_tests {
namespace {

/// HTTP/2 frames out of bytes.
class frames_in {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// The client's preface is the first `size` bytes.
  std::string take(std::size_t size) {
    if (bytes_.size() < size) return {};
    const auto taken = bytes_.substr(0, size);
    bytes_.erase(0, size);
    return taken;
  }
  /// One whole frame; empty: there is none.
  std::string next() {
    constexpr std::size_t head = 9;
    if (bytes_.size() < head) return {};
    std::size_t size = head;
    for (const unsigned at : {0U, 1U, 2U}) {
      size += std::size_t{static_cast<unsigned char>(bytes_[at])} << (16 - 8 * at);
    }
    return take(size);
  }

 private:
  std::string bytes_;
};

/// In front of a server; from lag() on it answers each call as etcd does whose apply index is far
/// behind its commit index.
class front {
 public:
  explicit front(int port) : port_(port), peer_([this](const auto& c, int) { serve(c); }) {}

  std::string address() const { return peer_.address().text(); }
  void lag() { lags_ = true; }
  int refused() const { return refused_; }

 private:
  void serve(const io::peer::client& c) {
    const io::unique_fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(port_));
    if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return;
    std::mutex writes;
    std::thread back([&] {
      std::array<char, 65536> room;
      frames_in in;
      while (true) {
        const auto count = ::recv(server.get(), room.data(), room.size(), 0);
        if (count <= 0) return;
        in.feed({room.data(), static_cast<std::size_t>(count)});
        const std::lock_guard hold(writes);
        for (auto f = in.next(); !f.empty(); f = in.next()) c.write(f);
      }
    });
    const auto pass = [&](const std::string& bytes) {
      static_cast<void>(::send(server.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    };
    frames_in in;
    std::set<std::string> refused;
    bool greeted = false;
    for (auto more = c.read(); !more.empty(); more = c.read()) {
      in.feed(more);
      if (!greeted) pass(in.take(24));
      greeted = true;
      for (auto f = in.next(); !f.empty(); f = in.next()) {
        const auto stream = f.substr(5, 4);
        // The heads of later calls lean on this one: none of them is passed on any more.
        if (f[3] == 1 && (lags_ || !refused.empty())) {
          refused.insert(stream);
          const std::lock_guard hold(writes);
          c.write(refusal_of(stream));
        } else if (!refused.contains(stream)) {
          pass(f);
        }
      }
    }
    ::shutdown(server.get(), SHUT_RDWR);
    back.join();
  }

  std::string refusal_of(const std::string& stream) {
    using namespace io::frames;
    ++refused_;
    auto f = frame(1, end_headers | end_stream, 0,
                   "\x88" + field("content-type", "application/grpc") + field("grpc-status", "8") +
                       field("grpc-message", "etcdserver: too many requests"));
    return f.replace(5, 4, stream);
  }

  const int port_;
  std::atomic<bool> lags_{false};
  std::atomic<int> refused_{0};
  io::peer peer_;
};

TEST(etcd_refusal, a_server_that_lags_ends_no_lock_beside_one_that_does_not) {
  const servers s;
  front one(s.at(0).port());
  front two(s.at(0).port());
  client c("etcd://" + one.address() + "," + two.address() + "/t?node_timeout=2s");
  auto m = c.eventually_join();
  const auto held = m.enqueue("a");
  ASSERT_EQ(held.what, status::ok) << held.text;
  ASSERT_TRUE(process::eventually([&] {
    return c.on_loop([&] {
      const auto& all = c.servers->members();
      return all[0]->in_use() && all[1]->in_use();
    });
  }));
  auto& lagging = c.preferred() == 0 ? one : two;
  lagging.lag();
  const auto beat = m.beat();
  EXPECT_EQ(beat.what, status::ok) << beat.text;
  EXPECT_GT(lagging.refused(), 0);
  for (const std::string name : {"b", "c"}) {
    const auto v = m.enqueue(name);
    EXPECT_EQ(v.what, status::ok) << v.text;
  }
  EXPECT_EQ(m.leave("a", held.mine).what, status::ok);
  c.servers->close();
}

}  // namespace
}  // namespace holdfast::etcd_tests
