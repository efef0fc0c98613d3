#pragma once

#include "cli/descriptor.hpp"

#include <holdfast/error.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace holdfast::cli {

/// A file to which each step of an operator is appended as one JSON object a line, on the disk
/// before the next step. A line that a full disk or a crash cut short stays alone on its line. A
/// pipe does too, while somebody reads it.
class audit_log {
 public:
  /// Where it is unless --audit says otherwise: /var/log/holdfast-audit.log for root, else
  /// $XDG_STATE_HOME/holdfast-audit.log (~/.local/state); empty for a user without a home.
  static std::string usual_path();

  /// What is done about directories above it that are not there.
  enum class directories { keep, make };

  /// Makes the file, and what is to be made above it, for their owner alone.
  /// Errors: `unavailable`.
  static result<audit_log> open(const std::string& path, directories missing = directories::keep);
  /// Whether it could be opened, as far as can be seen; changes nothing. Errors: as open().
  static result<void> look_at(const std::string& path, directories missing);

  /// Adds the time. Errors: `unavailable`.
  result<void> append(nlohmann::ordered_json entry);

  const std::string& path() const noexcept { return path_; }

 private:
  audit_log(descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  descriptor file_;
  std::string path_;
};

}  // namespace holdfast::cli
