#include "io/zookeeper/zookeeper_calls.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace holdfast::io {

namespace {

using kind = zoo_request::kind;
using on_reply = zookeeper_connection::on_reply;

// "-2147483648" and the end of the text.
constexpr std::size_t number_bytes_max = 12;

zoo_stat stat_of(const Stat& s) {
  return {.created = s.czxid,
          .modified = s.mzxid,
          .children_changed = s.pzxid,
          .version = s.version,
          .children = s.numChildren};
}

/// One call under way. The library writes the results of a multi into it.
struct pending {
  on_reply done{};
  std::vector<zoo_op_result_t> results{};
  std::vector<Stat> stats{};
  std::vector<std::string> paths{};
};

using pending_ptr = std::unique_ptr<pending>;

pending_ptr taken(const void* data) {
  return pending_ptr(static_cast<pending*>(const_cast<void*>(data)));
}

void answer(const pending& p, int code, zoo_reply r = {}) {
  r.code = static_cast<zoo_code>(code);
  p.done(std::move(r));
}

void got_nothing(int code, const void* data) { answer(*taken(data), code); }

void got_stat(int code, const Stat* s, const void* data) {
  const auto p = taken(data);
  zoo_reply r;
  if (s != nullptr) r.stat = stat_of(*s);
  answer(*p, code, std::move(r));
}

void got_text(int code, const char* text, const void* data) {
  const auto p = taken(data);
  zoo_reply r;
  if (text != nullptr) r.data = text;
  answer(*p, code, std::move(r));
}

void got_data(int code, const char* bytes, int size, const Stat* s, const void* data) {
  const auto p = taken(data);
  zoo_reply r;
  if (s != nullptr) r.stat = stat_of(*s);
  if (bytes != nullptr && size > 0) r.data.assign(bytes, static_cast<std::size_t>(size));
  answer(*p, code, std::move(r));
}

void got_names(int code, const String_vector* names, const Stat* s, const void* data) {
  const auto p = taken(data);
  zoo_reply r;
  if (s != nullptr) r.stat = stat_of(*s);
  if (names != nullptr) {
    r.names.reserve(static_cast<std::size_t>(names->count));
    for (std::int32_t i = 0; i < names->count; ++i) r.names.emplace_back(names->data[i]);
  }
  answer(*p, code, std::move(r));
}

void got_access(int code, ACL_vector* access, Stat*, const void* data) {
  const auto p = taken(data);
  zoo_reply r;
  for (std::int32_t i = 0; access != nullptr && i < access->count; ++i) {
    const ACL& entry = access->data[i];
    if (std::string_view(entry.id.scheme) != "world") continue;
    r.open_to_all = r.open_to_all || (entry.perms & ~ZOO_PERM_READ) != 0;
  }
  answer(*p, code, std::move(r));
}

void got_parts(int code, const void* data) {
  const auto p = taken(data);
  zoo_reply r;
  for (std::size_t i = 0; i < p->results.size(); ++i) {
    auto& part = r.parts.emplace_back();
    part.code = static_cast<zoo_code>(p->results[i].err);
    part.stat = stat_of(p->stats[i]);
    // After a failure the room for the path has nothing that means anything.
    if (code == ZOK) part.data = p->paths[i].c_str();
  }
  answer(*p, code, std::move(r));
}

const ACL_vector* access(bool own) { return own ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE; }

int size_of(const std::string& data) { return static_cast<int>(data.size()); }

int call_multi(zhandle_t* h, const zoo_request& r, bool own, pending& p) {
  const std::size_t count = r.parts.size();
  p.results.resize(count);
  p.stats.resize(count);
  p.paths.resize(count);
  std::vector<zoo_op_t> ops(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& part = r.parts[i];
    const char* path = part.path.c_str();
    auto& room = p.paths[i];
    switch (part.what) {
      case kind::create:
        room.resize(part.path.size() + number_bytes_max);
        zoo_create_op_init(&ops[i], path, part.data.data(), size_of(part.data), access(own),
                           part.numbered ? ZOO_PERSISTENT_SEQUENTIAL : ZOO_PERSISTENT, room.data(),
                           static_cast<int>(room.size()));
        break;
      case kind::set:
        zoo_set_op_init(&ops[i], path, part.data.data(), size_of(part.data), part.version,
                        &p.stats[i]);
        break;
      case kind::remove:
        zoo_delete_op_init(&ops[i], path, part.version);
        break;
      case kind::check:
        zoo_check_op_init(&ops[i], path, part.version);
        break;
      default:
        return ZBADARGUMENTS;
    }
  }
  return zoo_amulti(h, static_cast<int>(count), ops.data(), p.results.data(), got_parts, &p);
}

int call(zhandle_t* h, const zoo_request& r, bool own, pending& p) {
  const char* path = r.path.c_str();
  switch (r.what) {
    case kind::get:
      return zoo_aget(h, path, r.watched ? 1 : 0, got_data, &p);
    case kind::children:
      return zoo_aget_children2(h, path, 0, got_names, &p);
    case kind::access:
      return zoo_aget_acl(h, path, got_access, &p);
    case kind::sync:
      return zoo_async(h, path, got_text, &p);
    case kind::create:
      return zoo_acreate(h, path, r.data.data(), size_of(r.data), access(own),
                         r.numbered ? ZOO_PERSISTENT_SEQUENTIAL : ZOO_PERSISTENT, got_text, &p);
    case kind::create_container:
      return zoo_acreate(h, path, r.data.data(), size_of(r.data), access(own), ZOO_CONTAINER,
                         got_text, &p);
    case kind::set:
      return zoo_aset(h, path, r.data.data(), size_of(r.data), r.version, got_stat, &p);
    case kind::remove:
      return zoo_adelete(h, path, r.version, got_nothing, &p);
    case kind::multi:
      return call_multi(h, r, own, p);
    case kind::check:
      break;
  }
  return ZBADARGUMENTS;
}

}  // namespace

bool call_zookeeper(zhandle_t* handle, const zoo_request& r, bool own, on_reply done) {
  auto p = std::make_unique<pending>();
  p->done = std::move(done);
  // The library has taken nothing then, and calls nothing back.
  if (call(handle, r, own, *p) != ZOK) return false;
  // It comes back to taken(), by the library's callback.
  static_cast<void>(p.release());
  return true;
}

std::string print(zoo_code c) {
  return std::string(zerror(static_cast<int>(c))) + " (" + std::to_string(static_cast<int>(c)) +
         ")";
}

}  // namespace holdfast::io
