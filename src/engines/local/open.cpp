#include "engines/local/open.hpp"

#include "engines/local/diagnose.hpp"
#include "engines/local/engine.hpp"
#include "engines/local/environment.hpp"

namespace holdfast::engines::local {

result<opened> open_local(const core::store_url& url) {
  if (auto known = url.only({"ttl", "max_ttl", "group"}); !known) return known.error();
  if (url.path.empty()) {
    return error(errc::invalid_argument, "local: needs a path, such as local:/var/lib/holdfast");
  }
  request asked{url.path, {}};
  if (const auto group = url.query.find("group"); group != url.query.end()) {
    asked.group = group->second;
    if (asked.group.empty()) return error(errc::invalid_argument, "group= needs a group's name");
  }
  auto store = environment::open(asked);
  if (!store) return store.error();
  const io::place& where = (*store)->place().where();
  return opened{.engine = std::make_shared<local_engine>(*store),
                .url = "local:" + where.path + (asked.group.empty() ? "" : "?group=" + asked.group),
                .life_directory = where.at(file::life),
                .group_writable = (*store)->place().grouped(),
                .diagnose = [keep = *store] { return diagnose(*keep); }};
}

}  // namespace holdfast::engines::local
