#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct nghttp2_session;

namespace holdfast::io {

/// A client's side of HTTP/2 (RFC 9113) as nghttp2 does it: bytes in, bytes out, no socket.
///
/// Thread safety: none; one owner.
class http2_session {
 public:
  /// What the peer does, and what is asked of us. None of these may call the session.
  class listener {
   public:
    listener() = default;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    virtual ~listener() = default;
    /// The peer has said that it speaks HTTP/2.
    virtual void settings() = 0;
    virtual void goes_away() = 0;
    /// The head of this stream is the next thing that take() gives.
    virtual void sends_head(std::int32_t number) = 0;
    /// The next bytes to send; `ends`: the last ones; `waits`: none yet, until resume().
    virtual std::size_t body(std::int32_t number, std::span<std::uint8_t> room, bool& ends,
                             bool& waits) = 0;
    virtual void header(std::int32_t number, std::string_view name, std::string_view value) = 0;
    /// False when the stream is to be ended.
    virtual bool data(std::int32_t number, std::string_view bytes) = 0;
    /// `refused`: the peer has not processed anything of it.
    virtual void closed(std::int32_t number, bool refused, std::string_view why) = 0;
  };

  /// What a gRPC call begins with.
  struct head {
    std::string_view path{};
    std::string_view authority{};
    std::string_view token{};
    std::string timeout{};
    bool encrypted{};
    bool leader{};
  };

  /// Null when there is no memory. The listener must outlive it. Numbers its streams from `first`
  /// on.
  static std::unique_ptr<http2_session> make(listener& o, std::int32_t first);
  http2_session(const http2_session&) = delete;
  http2_session& operator=(const http2_session&) = delete;
  ~http2_session();

  /// The number of the new stream; negative when there are no more.
  std::int32_t submit(const head& h);
  void resume(std::int32_t number);
  void reset(std::int32_t number);

  /// Takes bytes of the peer; when they cannot be read, the session is over.
  void receive(std::string_view bytes);
  /// Why the session is of no more use, once what there was to say has been taken.
  std::optional<std::string> over() const;
  /// The next bytes to send, good until the next call; nothing when there are none.
  std::optional<std::string_view> take();

 private:
  struct callbacks;
  explicit http2_session(listener& o) noexcept : listener_(o) {}

  listener& listener_;
  nghttp2_session* session_{};
  std::string fault_;
  bool failed_{};
};

}  // namespace holdfast::io
