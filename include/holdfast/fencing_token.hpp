#pragma once

#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/token.hpp>

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

/// Which store a token is of: a short text that storage compares and shows, and never opens.
///
/// It is equal for all clients of one store, in whatever way they reach it; the same after every
/// restart; and different between stores whose tokens cannot be compared (two machines' `local:`
/// stores, two prefixes of one etcd). docs/fence.md says what each engine gives.
///
/// It does **not** promise that two texts which differ are two stores: a `redis://` or
/// `zookeeper://` store that is named by other host names is another one here. Its tokens are
/// then refused at the storage, never mixed up.
///
/// Thread safety: as a plain value.
class HOLDFAST_EXPORT store_identity {
 public:
  /// The limit of an identity, in bytes.
  static constexpr std::size_t bytes_max = 1024;

  /// Keeps `text` as it is and never fails; check() validates it.
  explicit store_identity(std::string text) : text_(std::move(text)) {}

  /// The bytes, as they were given; for people use printable().
  const std::string& str() const noexcept { return text_; }

  /// Success for 1 to 1024 bytes without control characters; else `invalid_argument`.
  result<void> check() const;

  /// The identity for a terminal or a log line; see lock_name::printable.
  std::string printable() const { return lock_name(text_).printable(); }

  friend auto operator<=>(const store_identity&, const store_identity&) = default;

 private:
  std::string text_;
};

/// The source of a token: one lock of one store. Only tokens of equal sources can be compared, so
/// everything that refuses stale tokens (fence, log, guard) is bound to one source.
///
/// Thread safety: as a plain value.
struct HOLDFAST_EXPORT token_source {
  store_identity store;
  lock_name lock;

  /// Success if both are well formed; else `invalid_argument` about the first that is not.
  result<void> check() const;
  /// Both for people: `lock NAME of store IDENTITY`.
  std::string printable() const;
  /// Both escaped, without a token: `LOCK:STORE`, the end of fencing_token::str.
  std::string str() const;
  /// Reads what str() wrote, and nothing else. Errors: `invalid_argument`, with the position.
  static result<token_source> parse(std::string_view text);

  friend auto operator<=>(const token_source&, const token_source&) = default;
};

/// A fencing token: a token together with its source. It travels with a write to the storage.
///
/// Wire form: `VALUE:LOCK:STORE`, such as `42:nightly:local/9f0c...`. VALUE is decimal. In LOCK
/// and STORE each byte outside `!` to `~`, each `%`, and in LOCK each `:`, is written as `%hh`
/// with lower-case digits. So it is one line of printable ASCII without spaces, of at most
/// `wire_max` bytes, and fits an HTTP header field. Equal tokens have equal wire forms.
///
/// It does **not** carry the mode of the lock, nor a proof that its sender was granted it: a
/// fence stops late writers, not malicious ones.
///
/// Thread safety: as a plain value.
struct HOLDFAST_EXPORT fencing_token {
  /// The limit of a wire form, in bytes.
  static constexpr std::size_t wire_max =
      16 + 1 + 3 * lock_name::bytes_max + 1 + 3 * store_identity::bytes_max;

  token_source from;
  token value;

  /// Success for a token that storage may compare; else `invalid_argument`: a value of zero or
  /// above token_max, or a source that is not well formed.
  result<void> check() const;

  /// The wire form. It can be read back only if the token passes check().
  std::string str() const;
  /// Reads a wire form, and nothing else: no spaces, no leading zeros, no escape that str() does
  /// not write. Errors: `invalid_argument`, with what is wrong, at which byte, and what the form
  /// is.
  static result<fencing_token> parse(std::string_view text);

  friend bool operator==(const fencing_token&, const fencing_token&) = default;
};

}  // namespace holdfast
