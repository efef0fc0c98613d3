#include "io/net/tls_failure.hpp"

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <system_error>
#include <utility>

namespace holdfast::io {

namespace {

constexpr const char* prefix = "TLS: ";

const char* advice_for(long verdict) noexcept {
  switch (verdict) {
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return "give the file of the CA that signed it (ca=)";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "use a name that the certificate has, or issue one for this name";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "renew it, and check this machine's date";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "check this machine's date";
    default:
      return "check the server's certificate";
  }
}

/// What the peer said by an alert (RFC 8446 section 6) when it ended the session; zero: nothing.
int alert_in(unsigned long code) noexcept {
  const int reason = ERR_GET_REASON(code);
  const bool is_alert = ERR_GET_LIB(code) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET;
  return is_alert ? reason - SSL_AD_REASON_OFFSET : 0;
}

std::string objection_to_own(int alert, const tls_failure& f) {
  switch (alert) {
    case SSL_AD_CERTIFICATE_EXPIRED:
      return "it has expired (" + f.validity + "); renew it, and check the server's date";
    case SSL_AD_UNKNOWN_CA:
      return "the server does not know the CA that signed it; give cert= and key= of a CA that it "
             "knows, or make this one known to it";
    case SSL_AD_CERTIFICATE_REVOKED:
      return "it is revoked; give another one (cert= and key=)";
    default:
      return reason_of(f.code) +
             "; check that it is meant for clients, and what the server's log says";
  }
}

std::string text_of_alert(int alert, const tls_failure& f) {
  const std::string server = "the server '" + f.host + "' ";
  const bool has_own = !f.certificate_file.empty();
  switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:  // What some servers say when they are shown none.
    case SSL_AD_CERTIFICATE_REQUIRED:
      if (!has_own) return server + "wants a certificate of this client; give cert= and key=";
      [[fallthrough]];
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
      if (!has_own) break;
      return server + "refused this client's certificate '" + f.certificate_file +
             "': " + objection_to_own(alert, f);
    case SSL_AD_HANDSHAKE_FAILURE:
      return server + "refused the handshake; " +
             (has_own ? "has it a version and a cipher of TLS in common with this client?"
                      : "does it want a certificate of this client (cert= and key=)?");
    case SSL_AD_PROTOCOL_VERSION:
      return server + "has no version of TLS in common with this client, which needs 1.2 or later";
    default:
      break;
  }
  return server + "ended the session: " + reason_of(f.code) + "; see the server's log";
}

}  // namespace

error error_of(const tls_failure& f) {
  std::string text = prefix;
  if (ERR_GET_REASON(f.code) == SSL_R_CERTIFICATE_VERIFY_FAILED && f.verdict != X509_V_OK) {
    text += "the certificate of '" + f.host +
            "' is not accepted: " + X509_verify_cert_error_string(f.verdict) +
            (f.rejected.empty() ? "" : " (" + f.rejected + ")") + "; " + advice_for(f.verdict);
    return error::for_operator(errc::unavailable, std::move(text));
  }
  // What OpenSSL says of bytes that are no record of TLS.
  if (ERR_GET_REASON(f.code) == SSL_R_WRONG_VERSION_NUMBER) {
    text += "'" + f.host + "' does not speak TLS on this port; use its TLS port";
    return error::for_operator(errc::unavailable, std::move(text));
  }
  if (f.code == 0) {
    text += "the peer ended the stream";
  } else if (const int alert = alert_in(f.code); alert != 0) {
    text += text_of_alert(alert, f);
  } else {
    text += "'" + f.host + "': " + reason_of(f.code);
  }
  return {errc::unavailable, std::move(text)};
}

bool is_tls_failure(const error& e) { return e.message().starts_with(prefix); }

std::string reason_of(unsigned long code) {
  if (ERR_SYSTEM_ERROR(code)) return std::generic_category().message(ERR_GET_REASON(code));
  const char* text = ERR_reason_error_string(code);
  return text == nullptr ? "no reason given" : text;
}

std::string text_of_time(const asn1_string_st* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown time";
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

}  // namespace holdfast::io
