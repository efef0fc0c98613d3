#pragma once

#include <holdfast/error.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;
struct x509_store_ctx_st;

namespace holdfast::io {

struct tls_options {
  enum class verification {
    name_and_ca,  ///< The certificate is signed by the CA and names the host.
    ca,           ///< It is signed by the CA: for certificates that name no host.
    none,         ///< Encrypted, but anybody may be at the other end.
  };
  verification verify{verification::name_and_ca};
  std::string ca_file{};           ///< PEM; empty: the system's.
  std::string certificate_file{};  ///< PEM of the client with its chain; empty: none is shown.
  std::string key_file{};          ///< PEM of the client's key; given with the certificate.
  bool may_ask{true};              ///< The terminal, for the passphrase of a key that has one.
  std::string protocol{};          ///< Asked for by ALPN (RFC 7301), "h2"; empty: none.
};

/// What all connections of a store share: trusted certificates and the client's own. At least
/// TLS 1.2.
class tls_context {
 public:
  /// Reads the files. Errors: `invalid_argument` naming the file.
  static result<std::shared_ptr<const tls_context>> make(const tls_options& options);
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;
  ~tls_context();

 private:
  friend class tls_session;
  tls_context(ssl_ctx_st* context, const tls_options& o)
      : context_(context), verify_(o.verify), certificate_file_(o.certificate_file) {}
  ssl_ctx_st* context_;
  tls_options::verification verify_;
  std::string certificate_file_;
};

/// One TLS client over bytes that somebody else sends and receives. There is no way to continue
/// without encryption: after a failure it gives neither bytes to send nor bytes that came.
///
/// Thread safety: none; one owner.
class tls_session {
 public:
  /// `host`: a name or an address, to compare the certificate with and to ask for (SNI).
  tls_session(std::shared_ptr<const tls_context> context, const std::string& host);
  tls_session(const tls_session&) = delete;
  tls_session& operator=(const tls_session&) = delete;
  ~tls_session();

  /// Goes on with the handshake, as far as the bytes that came allow.
  /// Errors: `unavailable` with what is wrong with the certificate and what to do.
  result<void> shake_hands();
  bool established() const noexcept;

  /// Takes bytes that came from the peer.
  void received(std::string_view encrypted);
  /// Decrypts into `room`; zero: nothing more for now. See ended().
  result<std::size_t> read(std::span<char> room);
  /// Whether the peer ended the stream properly.
  bool ended() const noexcept;

  /// Encrypts. Only when established.
  result<void> write(std::string_view plain);
  /// Appends what has to be sent to the peer.
  void take_output(std::string& out);

 private:
  friend class tls_context;
  static int judge(int accepted, x509_store_ctx_st* judged);
  error failure() const;

  std::shared_ptr<const tls_context> context_;
  std::string host_;
  ssl_st* ssl_;
  std::string rejected_;  ///< Which certificate of the peer's, and when it is valid.
};

}  // namespace holdfast::io
