#include "cli/end_sessions.hpp"

#include "cli/json_output.hpp"
#include "cli/open_store.hpp"

#include <utility>

namespace holdfast::cli {

namespace {

/// Of a session that is named by its id, nothing has to be seen: so one of a store that is too
/// large to be looked through can be ended, too.
or_exit<picture> picture_for(const target& t, store& st, const report& out) {
  if (!t.session.empty()) return picture{st.url(), {}};
  return picture_of(st, out);
}

}  // namespace

int end_sessions(const target& which, const common_options& common, const char* key,
                 const end_session& end, const report& out) {
  auto opened = open_store(common, out);
  if (!opened) return opened.code();
  store& st = *opened;
  const auto seen = picture_for(which, st, out);
  if (!seen) return seen.code();
  const auto meant = sessions_of(which, *seen, out);
  if (!meant) return meant.code();
  int code = 0;
  auto json = json_head(st.url());
  json[key] = nlohmann::ordered_json::array();
  std::string text;
  std::string told;
  for (const session_id& id : *meant) {
    auto done = end(st, id, seen->all);
    if (!done) {
      code = done.code();
      continue;
    }
    text += done->text + "\n";
    told += (told.empty() ? "" : "; ") + done->text;
    json[key].push_back(std::move(done->json));
  }
  if (code != 0 && text.empty()) return code;
  const int printed = print_done(common.json ? json_line(json) : text, told, json[key], out);
  return code != 0 ? code : printed;
}

}  // namespace holdfast::cli
