#pragma once

#include "engines/zookeeper/codec.hpp"
#include "engines/zookeeper/ensemble.hpp"
#include "io/net/peer_fixture.hpp"
#include "io/thread/loop.hpp"

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// ZooKeeper servers that answer what and when the test wants, to the real client library. With
/// real ones: tests/zookeeper.
namespace holdfast::engines::zookeeper {

using namespace std::chrono_literals;

/// As many bytes of a number as ZooKeeper sends of it.
inline std::string bytes_of(std::uint64_t number, std::size_t count) {
  std::string bytes;
  for (std::size_t i = count; i-- > 0;) bytes += static_cast<char>((number >> (8 * i)) & 0xffU);
  return bytes;
}
inline std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    number = number << 8U | static_cast<unsigned char>(bytes.at(i));
  }
  return number;
}

/// What the server says of a node that has these data.
inline std::string node_of(const std::string& data) {
  constexpr std::size_t stat_size = 68;
  return bytes_of(data.size(), 4) + data + std::string(stat_size, '\0');
}

/// One connection of a server.
class line {
 public:
  static constexpr std::uint32_t create = 1;
  static constexpr std::uint32_t get = 4;

  struct request {
    std::uint32_t number{};
    std::uint32_t type{};
  };

  explicit line(const io::peer::client& c) : client_(c) {}

  /// Takes the session as it is asked for. Servers before 3.4 do not say whether they serve reads
  /// only.
  bool greet(bool says_whether_reads_only = true) {
    const auto asked = frame();
    if (!asked) return false;
    constexpr std::size_t timeout_at = 12;
    constexpr std::size_t password_size = 16;
    send(bytes_of(0, 4) + asked->substr(timeout_at, 4) + bytes_of(7, 8) +
         bytes_of(password_size, 4) + std::string(password_size, 'p') +
         bytes_of(0, says_whether_reads_only ? 1 : 0));
    return true;
  }
  /// The next one that is no heartbeat, for those are answered; none at the end, or after 10 s.
  std::optional<request> next() {
    constexpr std::uint32_t heartbeat = 11;
    constexpr auto farewell = static_cast<std::uint32_t>(-11);
    while (const auto asked = frame()) {
      const request r{.number = number_at(*asked, 0), .type = number_at(*asked, 4)};
      if (r.type != heartbeat && r.type != farewell) return r;
      answer(r);
    }
    return {};
  }
  /// Whether something was sent that was not read yet.
  bool has_more() const {
    pollfd wanted{.fd = client_.descriptor(), .events = POLLIN, .revents = 0};
    return !read_.empty() || ::poll(&wanted, 1, 0) > 0;
  }
  void answer(const request& r, const std::string& body = {}, std::int32_t code = 0) {
    send(bytes_of(r.number, 4) + bytes_of(1, 8) + bytes_of(static_cast<std::uint32_t>(code), 4) +
         body);
  }
  void answer_next(const std::string& body = {}, std::int32_t code = 0) {
    if (const auto r = next()) answer(*r, body, code);
  }
  /// That a node was changed, which answers nothing.
  void tell_change(const std::string& path) {
    constexpr std::uint32_t to_nobody = static_cast<std::uint32_t>(-1);
    constexpr std::uint32_t changed = 3;
    constexpr std::uint32_t connected = 3;
    answer({.number = to_nobody},
           bytes_of(changed, 4) + bytes_of(connected, 4) + bytes_of(path.size(), 4) + path);
  }
  /// What a client asks first: whether the store is there.
  std::vector<request> asked_for_store() {
    std::vector<request> all;
    while (all.size() < 3) {
      const auto r = next();
      if (!r) break;
      all.push_back(*r);
    }
    return all;
  }
  /// It is there.
  void show_store(const std::vector<request>& asked) {
    if (asked.size() < 3) return;
    answer(asked[0], bytes_of(0, 4));
    answer(asked[1], node_of(std::string(store_format)));
    answer(asked[2], node_of(""));
  }
  /// A server that is connected to and has the store.
  void open() {
    if (greet()) show_store(asked_for_store());
  }
  /// The types of all that is asked until the client leaves; nothing is answered.
  std::vector<std::uint32_t> all_asked() {
    std::vector<std::uint32_t> types;
    while (const auto r = next()) types.push_back(r->type);
    return types;
  }

 private:
  void send(const std::string& message) { client_.write(bytes_of(message.size(), 4) + message); }
  std::optional<std::string> frame() {
    const auto has = [this](std::size_t size) {
      while (read_.size() < size) {
        const auto more = client_.read();
        if (more.empty()) return false;
        read_ += more;
      }
      return true;
    };
    if (!has(4)) return {};
    const std::size_t size = number_at(read_, 0);
    if (!has(4 + size)) return {};
    auto message = read_.substr(4, size);
    read_.erase(0, 4 + size);
    return message;
  }

  const io::peer::client& client_;
  std::string read_;
};

/// What says something that no ZooKeeper says.
inline void greet_wrongly(const io::peer::client& c) {
  if (!c.read().empty()) c.write("HTTP/1.1 400 Bad Request\r\n\r\n");
}

/// A client of such servers, on a loop of its own: the library wants one loop at a time.
class client {
 public:
  client(std::vector<io::node_address> servers, duration node_timeout)
      : ensemble_(std::make_shared<ensemble>(
            settings{.servers = std::move(servers), .root = "/t", .node_timeout = node_timeout},
            loop_)) {
    ensemble_->start();
  }
  ~client() { close(); }
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// Sends them, unless they have to wait; what becomes of them.
  std::future<batch_result> send(std::vector<zoo_request> requests,
                                 repeat how = repeat::never) const {
    const auto ends = std::make_shared<std::promise<batch_result>>();
    auto ended = ends->get_future();
    in_turn([&] {
      ensemble_->send(std::move(requests), how,
                      [ends](batch_result r) { ends->set_value(std::move(r)); });
    });
    return ended;
  }
  void listen(const std::shared_ptr<ensemble::listener>& l) const {
    in_turn([&] { ensemble_->listen(l); });
  }
  std::string trouble() const { return ensemble_->trouble_text(); }
  void close() const {
    ensemble_->close();
    in_turn([] {});
  }

 private:
  template <class Task>
  void in_turn(Task task) const {
    std::promise<void> done;
    loop_->post([&] {
      task();
      done.set_value();
    });
    done.get_future().get();
  }

  const std::shared_ptr<io::loop> loop_{std::move(io::loop::start().value())};
  const std::shared_ptr<ensemble> ensemble_;
};

/// What became of it within 20 s.
inline batch_result result_of(std::future<batch_result> ended) {
  if (ended.wait_for(20s) == std::future_status::ready) return ended.get();
  return {{core::status::conflicting, "no answer"}, {}};
}

}  // namespace holdfast::engines::zookeeper
