#include "engines/local/open.hpp"

#include "engines/local/diagnose.hpp"
#include "engines/local/engine.hpp"
#include "engines/local/environment.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace holdfast::engines::local {

namespace {

namespace fs = std::filesystem;

// The same path means another directory to each program that is started somewhere else, and each of
// them would hold "the" lock alone.
error not_absolute(const core::store_url& url) {
  core::store_url better = url;
  if (url.path.front() != '~') {
    std::error_code ignored;
    better.path = (fs::current_path(ignored) / url.path).lexically_normal().string();
    return {errc::invalid_argument,
            "the path must be absolute, or it would be another store in every directory: write " +
                better.str()};
  }
  const char* home = std::getenv("HOME");
  const bool own = url.path.size() == 1 || url.path[1] == '/';
  better.path = own && home != nullptr && *home == '/' ? home + url.path.substr(1) : "/PATH";
  return {errc::invalid_argument,
          "the path must be absolute, and no shell expands the ~ in it: write " + better.str()};
}

result<request> read(const core::store_url& url) {
  if (auto known = url.only({"ttl", "max_ttl", "group"}); !known) return known.error();
  if (url.path.empty()) {
    return error(errc::invalid_argument, "local: needs a path, such as local:/var/lib/holdfast");
  }
  if (url.path.front() != '/') return not_absolute(url);
  request asked{.path = url.path};
  if (const auto group = url.query.find("group"); group != url.query.end()) {
    asked.group = group->second;
    if (asked.group.empty()) return error(errc::invalid_argument, "group= needs a group's name");
  }
  return asked;
}

std::string canonical(const std::string& path, const std::string& group) {
  return "local:" + path + (group.empty() ? "" : "?group=" + group);
}

}  // namespace

result<opened_store> open_local(const core::store_url& url, missing what) {
  auto asked = read(url);
  if (!asked) return asked.error();
  asked->what = what;
  auto store = environment::open(*asked);
  if (!store) return store.error();
  const io::place& where = (*store)->place().where();
  return opened_store{.engine = std::make_shared<local_engine>(*store),
                      .url = canonical(where.path, asked->group),
                      .identity = [text = "local/" + (*store)->place().identity()] { return text; },
                      .life_directory = where.at(file::life),
                      .group_writable = (*store)->place().grouped(),
                      .promise =
                          "exclusive, shared and permits(n) locks of one machine, first come first "
                          "served, with tokens that grow while the file `floor` is kept. No "
                          "server, no clock but this machine's CLOCK_BOOTTIME",
                      .diagnose = [keep = *store] { return diagnose(*keep); }};
}

result<presence> find_local(const core::store_url& url) {
  const auto asked = read(url);
  if (!asked) return asked.error();
  presence seen{.url = canonical(asked->path, asked->group), .there = false, .obstacle = {}};
  seen.there = directory::exists(asked->path);
  if (!seen.there) seen.obstacle = directory::obstacle(asked->path);
  return seen;
}

}  // namespace holdfast::engines::local
