#pragma once

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <string>

namespace holdfast::io {

/// A key and a certificate in two PEM files, signed by another one or by itself.
class certificate {
 public:
  struct options {
    std::string directory{};
    std::string name{};           ///< Of the files and of the subject.
    std::string alternative{};    ///< "DNS:localhost,IP:127.0.0.1"; empty for a CA.
    long valid_seconds{86'400};   ///< From now on; less than zero: it has expired.
    const certificate* issuer{};  ///< Null: self-signed.
  };

  explicit certificate(const options& o)
      : path_(o.directory + "/" + o.name), key_(EVP_EC_gen("P-256")), x509_(X509_new()) {
    X509_set_version(x509_, 2);
    static long serial = 1;
    ASN1_INTEGER_set(X509_get_serialNumber(x509_), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x509_), -2 * 86'400);
    X509_gmtime_adj(X509_getm_notAfter(x509_), o.valid_seconds);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509_), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(o.name.c_str()), -1, -1, 0);
    const certificate& by = o.issuer == nullptr ? *this : *o.issuer;
    X509_set_issuer_name(x509_, X509_get_subject_name(by.x509_));
    X509_set_pubkey(x509_, key_);
    if (o.alternative.empty()) {
      extend(NID_basic_constraints, "critical,CA:TRUE");
    } else {
      extend(NID_subject_alt_name, o.alternative);
    }
    EXPECT_GT(X509_sign(x509_, by.key_, EVP_sha256()), 0);
    save();
  }
  certificate(const certificate&) = delete;
  certificate& operator=(const certificate&) = delete;
  ~certificate() {
    X509_free(x509_);
    EVP_PKEY_free(key_);
  }

  std::string certificate_file() const { return path_ + ".crt"; }
  std::string key_file() const { return path_ + ".key"; }
  /// "2026-01-31 12:00:00 UTC": until when it is valid.
  std::string ends() const {
    std::tm parts{};
    EXPECT_EQ(ASN1_TIME_to_tm(X509_get0_notAfter(x509_), &parts), 1);
    char text[32] = {};
    std::strftime(text, sizeof text, "%F %T UTC", &parts);
    return text;
  }

 private:
  void extend(int id, const std::string& value) {
    X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
    ASSERT_NE(made, nullptr);
    X509_add_ext(x509_, made, -1);
    X509_EXTENSION_free(made);
  }
  void save() const {
    std::FILE* to = std::fopen(certificate_file().c_str(), "w");
    EXPECT_EQ(PEM_write_X509(to, x509_), 1);
    std::fclose(to);
    to = std::fopen(key_file().c_str(), "w");
    EXPECT_EQ(PEM_write_PrivateKey(to, key_, nullptr, nullptr, 0, nullptr, nullptr), 1);
    std::fclose(to);
  }

  std::string path_;
  EVP_PKEY* key_;
  X509* x509_;
};

}  // namespace holdfast::io
