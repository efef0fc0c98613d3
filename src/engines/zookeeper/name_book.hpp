#pragma once

#include "io/net/node_address.hpp"
#include "io/net/stream_socket.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::io {
class loop;
}

namespace holdfast::engines::zookeeper {

/// The addresses of servers whose names a resolver answers late, or not at all for some: the others
/// do not wait for these. A name that is not answered, or has no address now, keeps its last ones.
///
/// Thread safety: the loop's thread only.
class name_book : public std::enable_shared_from_this<name_book> {
 public:
  /// `complete`: every name was answered in time.
  using on_found = std::function<void(bool complete)>;

  name_book(std::vector<io::node_address> servers, const std::shared_ptr<io::loop>& l,
            on_found then);

  /// Asks for all names. Tells when all are answered or a second is over, and again for each
  /// answer that comes later. Nothing new begins before the first of these.
  void look_up();

  /// What is known now, in the order of the servers.
  std::vector<io::socket_address> addresses() const;
  /// Some name was not answered yet.
  bool waits() const;
  /// Of a name that has no address, or was not answered in time, for people; empty: of none.
  std::string trouble() const;

 private:
  struct entry {
    io::node_address server{};
    std::vector<io::socket_address> last{};
    std::string trouble{};
    bool waits{};
  };
  /// The answer for one name.
  void took(std::size_t number, const result<std::vector<io::socket_address>>& found);
  /// The round is over; names that are answered later are told one by one.
  void tell();

  const std::weak_ptr<io::loop> loop_;
  const on_found then_;
  std::vector<entry> entries_;
  bool gathers_{};
  std::uint64_t round_{};
};

}  // namespace holdfast::engines::zookeeper
