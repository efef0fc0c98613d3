#include "cli/open_store.hpp"

#include <utility>

namespace holdfast::cli {

namespace {

or_exit<store> open_named(const settings& s, const report& out) {
  if (const auto code = refuse_memory(s, out)) return *code;
  auto opened = store::open(store_url(s), missing::refuse);
  if (!opened) return fail_to_open(s, opened.error(), {key::store}, out);
  return std::move(*opened);
}

}  // namespace

void warn_of_gaps(const std::string& url, const snapshot& all, const report& out) {
  if (all.lacks.empty()) return;
  out.warn("warning: store " + harmless(url) +
           ": locks may be held that are not shown: " + all.lacks);
}

or_exit<store> open_store(const common_options& given, const report& out) {
  settings s;
  if (const auto code = load_settings(s, given, out)) return *code;
  return open_named(s, out);
}

result<snapshot> watched_store::list() {
  if (!store_) {
    auto again = store::open(asked_, missing::refuse);
    if (!again) return again.error();
    store_ = std::move(*again);
  }
  auto now = store_->list();
  // Closed first: to open what is open already finds the same files.
  if (!now && url_.starts_with("local:")) store_.reset();
  return now;
}

or_exit<watched_store> open_to_watch(const common_options& given, const report& out) {
  settings s;
  if (const auto code = load_settings(s, given, out)) return *code;
  auto opened = open_named(s, out);
  if (!opened) return opened.code();
  return watched_store(*std::move(opened), store_url(s));
}

or_exit<picture> picture_of(store& st, const report& out) {
  auto all = st.list();
  if (!all) return fail_in(st.url(), all.error(), out);
  warn_of_gaps(st.url(), *all, out);
  return picture{st.url(), std::move(*all)};
}

or_exit<picture> look_at_store(const common_options& given, const report& out) {
  settings s;
  if (const auto code = load_settings(s, given, out)) return *code;
  if (is_default_store(store_url(s))) {
    const auto seen = store::find(store_url(s));
    if (seen && !seen->there) return picture{seen->url, {}};
  }
  auto opened = open_named(s, out);
  if (!opened) return opened.code();
  return picture_of(*opened, out);
}

or_exit<std::vector<session_id>> sessions_of(const target& t, const picture& in,
                                             const report& out) {
  if (!t.session.empty()) return std::vector{*session_id::parse(t.session)};
  const snapshot& all = in.all;
  const std::string where = "store " + harmless(in.url);
  std::vector<session_id> found;
  if (const lock_info* l = all.find(lock_name(t.name))) {
    for (const entry_info& e : l->entries) {
      if (e.granted) found.push_back(e.session);
    }
  }
  if (!found.empty()) return found;
  const auto id = session_id::parse(t.name);
  const bool meant = id && all.find(*id) != nullptr;
  const bool may_hide = !all.lacks.empty();
  return out.fail(exit_code::usage,
                  (may_hide ? "nobody is seen to hold \"" : "nobody holds \"") +
                      lock_name(t.name).printable() + "\" in " + where +
                      (may_hide ? ", and not all locks are seen: " + all.lacks : "") +
                      (meant ? "; for the session of that id write --session " + id->str() : ""));
}

}  // namespace holdfast::cli
