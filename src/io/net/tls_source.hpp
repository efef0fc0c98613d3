#pragma once

#include "io/net/tls.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/error.hpp>

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::io {

/// Where the connections of a store get their TLS context from. Certificates are renewed and
/// CAs replaced while programs run, so that the files are read again when they have changed.
///
/// Thread safety: current() from any thread.
class tls_source {
 public:
  /// Reads the files. Errors: `invalid_argument` naming the file.
  static result<std::shared_ptr<tls_source>> make(tls_options options);
  tls_source(const tls_source&) = delete;
  tls_source& operator=(const tls_source&) = delete;

  /// For a new connection: what the files say, or the last that could be used while they are
  /// replaced or missing.
  std::shared_ptr<const tls_context> current();

 private:
  /// A file as it was found; equal for the same file with the same bytes, unless it was written
  /// twice within the grain of its times.
  struct mark {
    dev_t device{};
    ino_t inode{};
    off_t size{};
    std::int64_t changed{};  ///< ctime in ns: unlike mtime nobody can set it.
    bool operator==(const mark&) const = default;
  };
  using marks = std::array<mark, 3>;

  explicit tls_source(tls_options options) : options_(std::move(options)) {}
  /// All zero: no file, or one that cannot be read twice.
  static mark mark_of(const std::string& path);
  marks look() const;
  /// A failure leaves the last context in use.
  result<void> read(const tls_options& options) HOLDFAST_REQUIRES(mutex_);

  const tls_options options_;
  mutex mutex_;
  marks read_ HOLDFAST_GUARDED_BY(mutex_){};  ///< What last_ was made of.
  /// A later change of these files would show in their marks.
  bool is_settled_ HOLDFAST_GUARDED_BY(mutex_){};
  std::shared_ptr<const tls_context> last_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::io
