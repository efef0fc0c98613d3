#pragma once

#include <holdfast/error.hpp>

#include <string>

struct asn1_string_st;

namespace holdfast::io {

/// What a TLS session knows when it fails.
struct tls_failure {
  std::string host{};              ///< Of the peer.
  unsigned long code{};            ///< OpenSSL's first error; zero: none.
  long verdict{};                  ///< Of the peer's certificate, X509_V_OK or why not.
  std::string rejected{};          ///< Which certificate of the peer's, and when it is valid.
  std::string certificate_file{};  ///< The client's own; empty: none is shown.
  std::string validity{};          ///< Of the client's own certificate.
};

/// `unavailable`, with what is wrong on which side, and what to do. A certificate that is not
/// accepted, and a port without TLS, need a person.
error error_of(const tls_failure& f);

/// Whether that is where the error comes from: it says all, and nothing else needs to be guessed.
bool is_tls_failure(const error& e);

/// The reason only: OpenSSL's full line is for its developers.
std::string reason_of(unsigned long code);

/// "2026-01-31 12:00:00 UTC", of one of a certificate's times.
std::string text_of_time(const asn1_string_st* time);

}  // namespace holdfast::io
