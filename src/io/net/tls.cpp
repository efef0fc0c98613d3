#include "io/net/tls.hpp"

#include "core/assert.hpp"
#include "io/net/tls_failure.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <string>
#include <utility>

namespace holdfast::io {

namespace {

using verification = tls_options::verification;

error bad_file(const char* what, const std::string& path) {
  const auto code = ERR_peek_error();
  ERR_clear_error();
  const bool is_other =
      ERR_GET_LIB(code) == ERR_LIB_X509 && ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH;
  return error(errc::invalid_argument,
               std::string("TLS: cannot use the ") + what + " '" + path + "': " + reason_of(code) +
                   (is_other ? "; it is not the key of the certificate in cert="
                             : "; it must be a readable PEM file"));
}

std::string validity_of(const X509* c) {
  return "valid until " + text_of_time(X509_get0_notAfter(c));
}

/// SSL_CTX_use_PrivateKey_file() would leave the descriptor to what the program execs meanwhile.
bool use_key(SSL_CTX* context, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) {
    ERR_raise(ERR_LIB_SYS, errno);
    return false;
  }
  EVP_PKEY* key = PEM_read_PrivateKey(file, nullptr, SSL_CTX_get_default_passwd_cb(context),
                                      SSL_CTX_get_default_passwd_cb_userdata(context));
  std::fclose(file);
  const bool used = key != nullptr && SSL_CTX_use_PrivateKey(context, key) == 1;
  EVP_PKEY_free(key);
  return used;
}

/// The client's certificate and key, if there are any.
result<void> use_files(SSL_CTX* context, const tls_options& o) {
  if (o.certificate_file.empty()) return {};
  if (SSL_CTX_use_certificate_chain_file(context, o.certificate_file.c_str()) != 1) {
    return bad_file("certificate", o.certificate_file);
  }
  if (!use_key(context, o.key_file)) return bad_file("key", o.key_file);
  return {};
}

}  // namespace

result<std::shared_ptr<const tls_context>> tls_context::make(const tls_options& o) {
  if (o.certificate_file.empty() != o.key_file.empty()) {
    return error(errc::invalid_argument,
                 "TLS: a client certificate needs its key, and the key its certificate: give both "
                 "cert= and key=, or neither");
  }
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (context == nullptr) return error(errc::unavailable, "TLS: OpenSSL does not start");
  std::shared_ptr<const tls_context> made(new tls_context(context, o));
  if (!o.may_ask) {
    // Nobody may be there, and what waits for the answer would be a loop with heartbeats.
    SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return -1; });
  }
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  // A handshake in mid-stream would keep commands from being written that wait for answers.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_verify(context, o.verify == verification::none ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                     &tls_session::judge);
  if (!o.protocol.empty()) {
    HOLDFAST_ASSERT(o.protocol.size() < 256);
    const std::string list = static_cast<char>(o.protocol.size()) + o.protocol;
    const bool failed =
        SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(list.data()),
                                static_cast<unsigned>(list.size())) != 0;
    HOLDFAST_ASSERT(!failed);
  }
  const bool trusts = o.ca_file.empty()
                          ? SSL_CTX_set_default_verify_paths(context) == 1
                          : SSL_CTX_load_verify_locations(context, o.ca_file.c_str(), nullptr) == 1;
  if (!trusts) return bad_file("CA file", o.ca_file);
  if (auto used = use_files(context, o); !used) return used.error();
  return made;
}

tls_context::~tls_context() { SSL_CTX_free(context_); }

tls_session::tls_session(std::shared_ptr<const tls_context> context, const std::string& host)
    : context_(std::move(context)), host_(host), ssl_(SSL_new(context_->context_)) {
  HOLDFAST_ASSERT(ssl_ != nullptr);
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  HOLDFAST_ASSERT(in != nullptr && out != nullptr);
  SSL_set_bio(ssl_, in, out);
  SSL_set_connect_state(ssl_);
  SSL_set_app_data(ssl_, this);
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl_);
  const bool is_number = X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1;
  const bool by_name = context_->verify_ == verification::name_and_ca;
  // OpenSSL would take no name for any name.
  HOLDFAST_ASSERT(!by_name || !host.empty());
  // RFC 6066 section 3: a literal address is not asked for by SNI.
  if (!is_number) SSL_set_tlsext_host_name(ssl_, host.c_str());
  if (!is_number && by_name) {
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const bool set = SSL_set1_host(ssl_, host.c_str()) == 1;
    HOLDFAST_ASSERT(set);
  }
  if (is_number && !by_name) X509_VERIFY_PARAM_set1_ip(wanted, nullptr, 0);
  ERR_clear_error();
}

tls_session::~tls_session() { SSL_free(ssl_); }

result<void> tls_session::shake_hands() {
  ERR_clear_error();
  const int returned = SSL_do_handshake(ssl_);
  if (returned == 1 || SSL_get_error(ssl_, returned) == SSL_ERROR_WANT_READ) return {};
  return failure();
}

bool tls_session::established() const noexcept { return SSL_is_init_finished(ssl_) == 1; }

void tls_session::received(std::string_view encrypted) {
  HOLDFAST_ASSERT(encrypted.size() <= INT_MAX);
  BIO_write(SSL_get_rbio(ssl_), encrypted.data(), static_cast<int>(encrypted.size()));
}

result<std::size_t> tls_session::read(std::span<char> room) {
  ERR_clear_error();
  std::size_t count = 0;
  const int returned = SSL_read_ex(ssl_, room.data(), room.size(), &count);
  if (returned == 1) return count;
  const int why = SSL_get_error(ssl_, returned);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
  return failure();
}

bool tls_session::ended() const noexcept {
  return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0;
}

result<void> tls_session::write(std::string_view plain) {
  ERR_clear_error();
  std::size_t count = 0;
  const int returned = SSL_write_ex(ssl_, plain.data(), plain.size(), &count);
  if (returned == 1) return {};
  return failure();
}

void tls_session::take_output(std::string& out) {
  BIO* bio = SSL_get_wbio(ssl_);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  if (size > 0) out.append(bytes, static_cast<std::size_t>(size));
  BIO_reset(bio);
}

// OpenSSL forgets a certificate that it does not accept.
int tls_session::judge(int accepted, x509_store_ctx_st* judged) {
  const int at = SSL_get_ex_data_X509_STORE_CTX_idx();
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(judged, at));
  auto* self = static_cast<tls_session*>(SSL_get_app_data(ssl));
  const X509* c = X509_STORE_CTX_get_current_cert(judged);
  const int verdict = X509_STORE_CTX_get_error(judged);
  if (accepted == 1 || self == nullptr || c == nullptr) return accepted;
  if (verdict == X509_V_ERR_CERT_HAS_EXPIRED) self->rejected_ = validity_of(c);
  if (verdict == X509_V_ERR_CERT_NOT_YET_VALID) {
    self->rejected_ = "valid from " + text_of_time(X509_get0_notBefore(c));
  }
  if (X509_STORE_CTX_get_error_depth(judged) > 0 && !self->rejected_.empty()) {
    self->rejected_ = "that of a CA above it, " + self->rejected_;
  }
  return accepted;
}

error tls_session::failure() const {
  const X509* own = SSL_get_certificate(ssl_);
  auto text = error_of({.host = host_,
                        .code = ERR_peek_error(),
                        .verdict = SSL_get_verify_result(ssl_),
                        .rejected = rejected_,
                        .certificate_file = context_->certificate_file_,
                        .validity = own == nullptr ? std::string() : validity_of(own)});
  ERR_clear_error();
  return text;
}

}  // namespace holdfast::io
