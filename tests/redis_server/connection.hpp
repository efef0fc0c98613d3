#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;
struct redisReply;

namespace holdfast::redis_tests {

/// What a server answered, over RESP2.
struct answer {
  enum class kind : std::uint8_t { null, status, error, integer, text, array, lost };
  kind is{kind::null};
  std::int64_t integer{};
  std::string text{};  ///< Of a status, an error, a text; of `lost`, why the connection failed.
  std::vector<answer> elements{};

  /// The first word of an error, else nothing.
  std::string_view error_word() const;
  friend bool operator==(const answer&, const answer&) = default;
};

answer integer(std::int64_t value);
answer text(std::string value);
answer null();
answer array(std::vector<answer> elements);

/// What redis-cli would print.
std::ostream& operator<<(std::ostream& out, const answer& a);

/// One connection of a test to a server, by hiredis. Every call ends within `patience`.
class connection {
 public:
  static connection tcp(int port, std::chrono::milliseconds patience = std::chrono::seconds{10});
  static connection unix_socket(const std::string& path);

  /// `lost` when the connection is, or the answer does not come in time.
  answer command(const std::vector<std::string>& parts);
  /// Sends without waiting for the answer.
  void send(const std::vector<std::string>& parts);
  /// The next answer, also one that no command asked for; nothing when none comes within `limit`.
  std::optional<answer> read(std::chrono::milliseconds limit);
  bool open() const;

 private:
  struct closes {
    void operator()(redisContext* c) const noexcept;
  };
  connection(redisContext* c, std::chrono::milliseconds patience);
  void set_patience(std::chrono::milliseconds limit);

  std::unique_ptr<redisContext, closes> context_;
  std::chrono::milliseconds patience_;
};

}  // namespace holdfast::redis_tests
