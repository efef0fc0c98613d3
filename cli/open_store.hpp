#pragma once

#include "cli/command_line.hpp"
#include "cli/or_exit.hpp"
#include "cli/report.hpp"

#include <holdfast/store.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {

/// Reads the settings and opens the store, which has to be there, or gives the exit code after a
/// sentence.
or_exit<store> open_store(const common_options& given, const report& out);

/// A store that is looked at again and again. A local one is opened anew where a look fails: files
/// that were removed or replaced answer nobody who has them open.
class watched_store {
 public:
  /// `asked`: its URL as it was given.
  watched_store(store st, std::string asked)
      : url_(st.url()), asked_(std::move(asked)), store_(std::move(st)) {}

  const std::string& url() const noexcept { return url_; }
  result<snapshot> list();

 private:
  const std::string url_;
  const std::string asked_;
  std::optional<store> store_;
};

/// The same as open_store(), for verbs that go on looking.
or_exit<watched_store> open_to_watch(const common_options& given, const report& out);

/// Says that `all` may not be all, where that is known.
void warn_of_gaps(const std::string& url, const snapshot& all, const report& out);

/// A store as it was seen once.
struct picture {
  std::string url;
  snapshot all;
};

/// What an opened store has, or the exit code after a sentence. Warns of gaps.
or_exit<picture> picture_of(store& st, const report& out);

/// Opened and looked at: the usual store of a machine that has never used it is an empty one.
or_exit<picture> look_at_store(const common_options& given, const report& out);

/// The sessions that `t` means: the one, or every holder of the lock, at least one.
or_exit<std::vector<session_id>> sessions_of(const target& t, const picture& in, const report& out);

}  // namespace holdfast::cli
