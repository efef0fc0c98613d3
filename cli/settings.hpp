#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// Where a setting's value came from. A later one of these wins over an earlier one.
enum class origin { none, built_in, file, environment, option };

/// One value and where it stands, for messages and `doctor`.
struct setting {
  std::string value{};
  origin from{origin::none};
  std::string place{};  ///< "/etc/holdfast/config.toml:3:9", "HOLDFAST_TTL", "--ttl".

  bool given() const noexcept { return from != origin::none; }
  std::string origin_text() const;
  /// The configuration file that gives it; empty: none does.
  std::string file() const;
};

/// What can be set in a file and in the environment. An option of the same name wins over both.
enum class key { store, ttl, grace, wait, label, instance };

struct key_info {
  key which;
  const char* name;  ///< In the file, and `--name` on the command line.
  const char* environment;
  const char* built_in;  ///< What holds when nobody sets it, in words for people.
};

/// Every key, in the order that `doctor` shows.
const std::array<key_info, 6>& all_keys() noexcept;
const key_info& info_of(key which) noexcept;

/// A fault in a configuration file, or one that cannot be read: exit code 78.
struct config_fault {
  std::string text;  ///< "FILE:LINE:COLUMN: what is wrong".
};

/// The settings of one run of the program: option over environment over user's file over system
/// file over default.
class settings {
 public:
  /// Reads the files and the environment. `HOLDFAST_CONFIG` names one file to read instead of the
  /// two; an empty value reads none.
  static std::optional<config_fault> load(settings& into);

  /// Puts an option of the command line over everything else.
  void set_option(key which, std::string value);
  const setting& operator[](key which) const noexcept;
  /// The files that were read.
  const std::vector<std::string>& files() const noexcept { return files_; }
  /// Of a user's file that may be there and could not be looked for, as where HOME is somebody
  /// else's; empty: none.
  const std::string& hidden() const noexcept { return hidden_; }

 private:
  friend class config_reader;
  std::array<setting, 6> values_{};
  std::vector<std::string> files_{};
  std::string hidden_{};
};

/// As parse_duration(), for the value of `which`: `wait` may be `forever`, and the error says so.
result<duration> read_duration(key which, std::string_view text);

/// `url` without a password, for messages before the store has been opened; nor with what may be
/// one: the value of a key that no engine knows, and a user without a password.
std::string without_password(std::string_view url);
bool has_password(std::string_view url);
/// Whether a word has the URL of a store on servers, or of one as others write it, well-formed or
/// not.
bool is_for_a_store(std::string_view word);
/// Of a URL that is no store's, or of any word: without the password of "user:password@" behind
/// "//".
std::string without_its_password(std::string_view word);
/// The path that the URL names as `password_file`; empty without one.
std::string password_file_in(std::string_view url);
/// A plain file whose mode lets every user of the machine read it.
bool everybody_reads(const std::string& file);
/// Who may read a file with a password and has no need to, for people; empty: nobody, or it cannot
/// be looked at. The group of a file of somebody else may: perhaps we read it as that.
std::string needless_readers_of(const std::string& password_file);

}  // namespace holdfast::cli
