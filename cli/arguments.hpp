#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace holdfast::cli {

struct words;

/// What one verb takes. CLI11 is behind it, in one file: whoever includes it takes five seconds
/// longer to compile.
class arguments {
 public:
  class option {
   public:
    option* type_name(const std::string& name);
    option* required();
    option* excludes(option* other);
    /// What to do instead of giving it an empty value, which is refused.
    option* not_empty(const std::string& advice);
    /// A text for people, which may be empty.
    option* may_be_empty();
    /// Once the line has been parsed.
    bool given() const;

   private:
    friend class arguments;
    explicit option(CLI::Option* inside);
    CLI::Option* inside_;
    std::string advice_{"leave the option out, or give one"};
    bool may_be_empty_{};
  };

  /// `about` is wrapped to lines of a terminal. `usage` is the usage line, for a verb with words
  /// that CLI11 knows nothing of.
  arguments(const std::string& about, std::string verb, std::string usage = {});
  arguments(const arguments&) = delete;
  arguments& operator=(const arguments&) = delete;
  ~arguments();

  /// `names` as CLI11 reads them: "NAME", "--name" or "-n,--name". An option that is given without
  /// a value is not taken for one that is not given: a variable of a script may be empty.
  option* add_option(const std::string& names, std::string& into, const std::string& about);
  option* add_flag(const std::string& names, bool& into, const std::string& about);

  CLI::App& app() noexcept { return *app_; }

 private:
  option* keep(CLI::Option* made);

  std::unique_ptr<CLI::App> app_;
  std::vector<std::unique_ptr<option>> options_;
};

/// Reads `given`. Gives the exit code when the program is to end: after --help, or after a sentence
/// (with a hint at the nearest option) about what is wrong.
std::optional<int> parse(arguments& verb, const words& given);

}  // namespace holdfast::cli
