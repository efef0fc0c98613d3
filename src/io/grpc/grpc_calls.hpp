#pragma once

#include "io/grpc/grpc_call.hpp"
#include "io/grpc/grpc_silence.hpp"
#include "io/grpc/http2_session.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::io {

/// The calls on one HTTP/2 session until they have ended: bytes in, bytes out, no socket and no
/// timer. Nobody is told of anything inside receive(), begin(), send() or cancel(): what there is
/// to tell waits for tell().
///
/// Thread safety: none; one owner.
class grpc_calls final : public http2_session::listener {
 public:
  /// What follows once a session numbers no more calls: 2^30 of them (RFC 9113 section 5.1.1).
  static constexpr const char* used_up = "its connection takes no more calls; a new one follows";

  /// Null when there is no memory. Its streams are numbered from `first_stream` on; `silence_max`
  /// is that of grpc_silence.
  static std::unique_ptr<grpc_calls> make(std::int32_t first_stream, duration silence_max);

  /// Begins a call, and takes it over. False, and it stays where it is: the session is used up.
  bool begin(std::unique_ptr<grpc_call>& c, const http2_session::head& h);
  /// One more message of a stream; of one that has ended it is dropped, as with cancel().
  void send(std::uint64_t id, std::string_view message);
  void cancel(std::uint64_t id);

  /// Takes what the server sent.
  void receive(std::string_view bytes);
  /// The next bytes to send, good until the next call; nothing when there are none.
  std::optional<std::string_view> take();

  /// Whether there is something to tell.
  bool has_news() const noexcept { return !news_.empty() || !ended_.empty(); }
  /// Tells of messages and ends, in this order; `server` begins what is said to people. Whoever is
  /// told may call once more, and what that brings waits for the next time. True: the server has
  /// answered a call.
  bool tell(const std::string& server);

  /// When take_late() and why_leave() are to be asked.
  time_point due() const;
  /// Takes back the calls whose deadline is over. The server may have seen what was taken before
  /// the place `handed`.
  std::vector<std::unique_ptr<grpc_call>> take_late(time_point now, std::uint64_t handed);
  /// See grpc_silence.
  std::optional<error> why_leave() { return silence_.why_leave(); }

  /// Ends all that are streams: the server will not, and waits for them. They are told `unknown`.
  void end_streams(const std::string& why);
  /// All that have not ended, for the session is over.
  std::vector<std::unique_ptr<grpc_call>> take_all();

  std::size_t size() const noexcept { return calls_.size(); }
  /// The server has said that it speaks HTTP/2.
  bool greeted() const noexcept { return greeted_; }
  /// It takes nothing more, and finishes what has begun.
  bool is_leaving() const noexcept { return why_leaves_ != nullptr; }
  /// Why; null when it is not.
  const char* why_leaves() const noexcept { return why_leaves_; }
  /// It is leaving, and nothing is left to finish.
  bool has_gone() const noexcept { return is_leaving() && calls_.empty(); }
  /// Why the session is of no more use, once what there was to send has been taken.
  std::optional<std::string> over() const { return session_->over(); }

  // ---- what HTTP/2 says ----

  void settings() override { greeted_ = true; }
  void goes_away() override;
  void sends_head(std::int32_t number) override;
  std::size_t body(std::int32_t number, std::span<std::uint8_t> room, bool& ends,
                   bool& waits) override;
  void header(std::int32_t number, std::string_view name, std::string_view value) override;
  bool data(std::int32_t number, std::string_view bytes) override;
  void closed(std::int32_t number, bool refused, std::string_view why) override;

 private:
  struct message_of {
    std::uint64_t id;
    std::string text;
  };
  struct end_of {
    std::unique_ptr<grpc_call> call;
    bool refused;
  };

  explicit grpc_calls(duration silence_max) : silence_(silence_max) {}
  /// Null: it has ended, or was cancelled.
  grpc_call* find(std::int32_t number);
  /// Out of all tables; null when it is in none.
  std::unique_ptr<grpc_call> forget(std::int32_t number);

  std::unique_ptr<http2_session> session_;
  std::unordered_map<std::int32_t, std::unique_ptr<grpc_call>> calls_;  ///< By their streams.
  std::unordered_map<std::uint64_t, std::int32_t> ids_;
  std::set<std::pair<time_point, std::int32_t>> deadlines_;
  std::vector<message_of> news_;  ///< Not told yet, as the next.
  std::vector<end_of> ended_;
  std::uint64_t taken_{0};  ///< How many bytes: the place of the next one.
  grpc_silence silence_;
  bool greeted_{};
  const char* why_leaves_{};
};

}  // namespace holdfast::io
