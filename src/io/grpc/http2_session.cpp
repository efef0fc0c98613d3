#include "io/grpc/http2_session.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>

namespace holdfast::io {

namespace {

// What a peer may send before it is told to go on. Answers are whole tables; a stream's window is
// what keeps one call from filling our memory ahead of its reader.
constexpr std::int32_t connection_window = 16 * 1024 * 1024;
constexpr std::uint32_t stream_window = 4 * 1024 * 1024;
constexpr std::uint32_t header_list_max = 16 * 1024;

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

nghttp2_nv pair(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

struct http2_session::callbacks {
  static listener& of(void* user) { return static_cast<http2_session*>(user)->listener_; }

  static int fault(nghttp2_session*, int, const char* text, std::size_t size, void* user) {
    constexpr std::size_t text_max = 200;
    auto& kept = static_cast<http2_session*>(user)->fault_;
    if (kept.empty()) kept.assign(text, std::min(size, text_max));
    return 0;
  }

  static int frame_received(nghttp2_session*, const nghttp2_frame* f, void* user) {
    if (f->hd.type == NGHTTP2_SETTINGS && (f->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
      of(user).settings();
    }
    if (f->hd.type == NGHTTP2_GOAWAY) of(user).goes_away();
    return 0;
  }

  static int before_sending(nghttp2_session*, const nghttp2_frame* f, void* user) {
    if (f->hd.type == NGHTTP2_HEADERS) of(user).sends_head(f->hd.stream_id);
    return 0;
  }

  static int not_sent(nghttp2_session*, const nghttp2_frame* f, int failed, void* user) {
    if (f->hd.type == NGHTTP2_HEADERS) {
      // Its head never left, so the peer has nothing of it.
      of(user).closed(f->hd.stream_id, true, nghttp2_strerror(failed));
    }
    return 0;
  }

  static int header(nghttp2_session*, const nghttp2_frame* f, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user) {
    of(user).header(f->hd.stream_id, view(name, name_size), view(value, value_size));
    return 0;
  }

  static int data(nghttp2_session* s, std::uint8_t, std::int32_t number, const std::uint8_t* bytes,
                  std::size_t size, void* user) {
    if (!of(user).data(number, view(bytes, size))) {
      nghttp2_submit_rst_stream(s, NGHTTP2_FLAG_NONE, number, NGHTTP2_CANCEL);
    }
    return 0;
  }

  static int closed(nghttp2_session*, std::int32_t number, std::uint32_t code, void* user) {
    const std::string why =
        code == NGHTTP2_NO_ERROR
            ? std::string("it ended the stream without a status")
            : std::string("it ended the stream: ") + nghttp2_http2_strerror(code);
    of(user).closed(number, code == NGHTTP2_REFUSED_STREAM, why);
    return 0;
  }

  static ssize_t body(nghttp2_session*, std::int32_t number, std::uint8_t* room, std::size_t size,
                      std::uint32_t* flags, nghttp2_data_source*, void* user) {
    bool ends = false;
    bool waits = false;
    const auto count = of(user).body(number, {room, size}, ends, waits);
    if (ends) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (waits) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(count);
  }
};

std::unique_ptr<http2_session> http2_session::make(listener& o, std::int32_t first) {
  std::unique_ptr<http2_session> made(new http2_session(o));
  nghttp2_session_callbacks* c = nullptr;
  if (nghttp2_session_callbacks_new(&c) != 0) return {};
  nghttp2_session_callbacks_set_on_frame_recv_callback(c, &callbacks::frame_received);
  nghttp2_session_callbacks_set_before_frame_send_callback(c, &callbacks::before_sending);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(c, &callbacks::not_sent);
  nghttp2_session_callbacks_set_on_header_callback(c, &callbacks::header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, &callbacks::data);
  nghttp2_session_callbacks_set_error_callback2(c, &callbacks::fault);
  nghttp2_session_callbacks_set_on_stream_close_callback(c, &callbacks::closed);
  const int failed = nghttp2_session_client_new(&made->session_, c, made.get());
  nghttp2_session_callbacks_del(c);
  if (failed != 0) return {};
  const std::array<nghttp2_settings_entry, 3> settings{{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, header_list_max},
  }};
  if (nghttp2_session_set_next_stream_id(made->session_, first) != 0 ||
      nghttp2_submit_settings(made->session_, NGHTTP2_FLAG_NONE, settings.data(),
                              settings.size()) != 0 ||
      nghttp2_session_set_local_window_size(made->session_, NGHTTP2_FLAG_NONE, 0,
                                            connection_window) != 0) {
    return {};
  }
  return made;
}

http2_session::~http2_session() {
  // Streams that are still open are closed without calling the listener.
  if (session_ != nullptr) nghttp2_session_del(session_);
}

std::int32_t http2_session::submit(const head& h) {
  std::array<nghttp2_nv, 9> fields{
      pair(":method", "POST"), pair(":scheme", h.encrypted ? "https" : "http"),
      pair(":path", h.path),   pair(":authority", h.authority),
      pair("te", "trailers"),  pair("content-type", "application/grpc"),
  };
  std::size_t count = 6;
  if (!h.timeout.empty()) fields[count++] = pair("grpc-timeout", h.timeout);
  if (!h.token.empty()) fields[count++] = pair("token", h.token);
  if (h.leader) fields[count++] = pair("hasleader", "true");
  nghttp2_data_provider provider{};
  provider.read_callback = &callbacks::body;
  return nghttp2_submit_request(session_, nullptr, fields.data(), count, &provider, nullptr);
}

void http2_session::resume(std::int32_t number) { nghttp2_session_resume_data(session_, number); }

void http2_session::reset(std::int32_t number) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, number, NGHTTP2_CANCEL);
}

void http2_session::receive(std::string_view bytes) {
  const auto taken = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0 && fault_.empty()) fault_ = nghttp2_strerror(static_cast<int>(taken));
  failed_ = failed_ || taken < 0;
}

std::optional<std::string> http2_session::over() const {
  const bool goes_on =
      nghttp2_session_want_read(session_) != 0 || nghttp2_session_want_write(session_) != 0;
  if (goes_on && !failed_) return {};
  return fault_.empty() ? std::string("it ended the session") : fault_;
}

std::optional<std::string_view> http2_session::take() {
  const std::uint8_t* bytes = nullptr;
  const auto size = nghttp2_session_mem_send(session_, &bytes);
  if (size <= 0) return {};
  return view(bytes, static_cast<std::size_t>(size));
}

}  // namespace holdfast::io
