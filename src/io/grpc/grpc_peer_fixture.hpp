#pragma once

#include "io/net/peer_fixture.hpp"
#include "wire/grpc_frame.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

/// A gRPC server's side by hand-made frames (RFC 9113 section 4, RFC 7541).
namespace holdfast::io::frames {

inline constexpr char end_stream = 1;
inline constexpr char end_headers = 4;

inline std::string frame(char type, char flags, char stream, const std::string& payload) {
  std::string out;
  for (const unsigned shift : {16U, 8U, 0U}) out += static_cast<char>(payload.size() >> shift);
  return out + type + flags + std::string(3, '\0') + stream + payload;
}
inline std::string settings() { return frame(4, 0, 0, {}); }
inline std::string number(unsigned value) {
  return std::string(3, '\0') + static_cast<char>(value);
}
inline std::string reset(unsigned code, char stream = 1) {
  return frame(3, 0, stream, number(code));
}
/// A client may send any number of bytes, in each stream and in all.
inline std::string open_windows() {
  return frame(4, 0, 0, std::string("\0\4", 2) + "\x7f\xff\xff\xff") +
         frame(8, 0, 0, "\x7f\xfe" + std::string(2, '\0'));
}
/// No stream may be begun until this is raised.
inline std::string no_streams() { return frame(4, 0, 0, std::string("\0\3\0\0\0\0", 6)); }
inline std::string go_away() { return frame(7, 0, 0, number(0) + number(0)); }
/// Every stream that is open may finish.
inline std::string go_away_gently() { return frame(7, 0, 0, "\x7f\xff\xff\xff" + number(0)); }
/// ":status: 200" is in HPACK's static table.
inline std::string head(char stream = 1) { return frame(1, end_headers, stream, "\x88"); }
inline std::string field(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}
inline std::string trailers(const std::string& status, char stream = 1) {
  return frame(1, end_headers | end_stream, stream, field("grpc-status", status));
}
inline std::string message(const std::string& text, char stream = 1) {
  std::string bytes;
  wire::put_grpc_message(bytes, text);
  return frame(0, 0, stream, bytes);
}

inline std::string ping() { return frame(6, 0, 0, std::string(8, 'p')); }

/// What a client sends, frame by frame.
class reader {
 public:
  explicit reader(const peer::client& c) : client_(c) {}

  /// The stream of the next request, once it is whole; negative when there is none.
  char request() {
    return until([](char type, char flags) { return type == 0 && (flags & end_stream) != 0; });
  }
  /// The message of the last request, which is in one frame.
  const std::string& asked() const noexcept { return asked_; }
  /// True once the client has answered ping(): it has taken what was sent before.
  bool answers_ping() {
    client_.write(ping());
    return until([](char type, char flags) { return type == 6 && (flags & 1) != 0; }) != none;
  }
  /// How many requests have come that were not asked for.
  int requests_before_ping() {
    client_.write(ping());
    int count = 0;
    until([&count](char type, char flags) {
      if (type == 0 && (flags & end_stream) != 0) ++count;
      return type == 6 && (flags & 1) != 0;
    });
    return count;
  }

 private:
  static constexpr char none = -1;
  static constexpr std::size_t preface = 24;
  static constexpr std::size_t head_size = 9;

  bool fill(std::size_t size) {
    while (bytes_.size() < size) {
      const auto more = client_.read();
      if (more.empty()) return false;
      bytes_ += more;
    }
    return true;
  }

  template <class Wanted>
  char until(Wanted wanted) {
    if (!greeted_) {
      if (!fill(preface)) return none;
      bytes_.erase(0, preface);
      greeted_ = true;
    }
    while (fill(head_size)) {
      std::size_t size = head_size;
      for (const unsigned at : {0U, 1U, 2U}) {
        size += std::size_t{static_cast<unsigned char>(bytes_[at])} << (16 - 8 * at);
      }
      if (!fill(size)) break;
      const std::string one = bytes_.substr(0, size);
      bytes_.erase(0, size);
      constexpr std::size_t message_head = 5;
      if (one[3] == 0) asked_ = one.substr(std::min(size, head_size + message_head));
      if (wanted(one[3], one[4])) return one[8];
    }
    return none;
  }

  const peer::client& client_;
  std::string bytes_;
  std::string asked_;
  bool greeted_{};
};

}  // namespace holdfast::io::frames
