#include "engines/etcd/keys.hpp"

#include "core/cut.hpp"
#include "core/hexadecimal.hpp"
#include "core/percent.hpp"
#include "core/whole_number.hpp"

namespace holdfast::engines::etcd {

namespace {

using core::hexadecimal;
using core::whole_number;
using wire::etcd::span;

// It ends a name in a key.
constexpr std::string_view escaped_too = "/";

// The key behind all those that begin with `beginning`, which ends with '/'.
span below(std::string beginning) {
  std::string end = beginning;
  end.back() = '0';
  return {std::move(beginning), std::move(end)};
}

std::string escaped(const std::string& name) {
  std::string out;
  core::percent_escape(out, name, escaped_too);
  return out;
}

// Digits of a fixed number, so that no permits' folder lies within another's.
std::string folder_of(const mode& how) {
  if (how.is_exclusive()) return "x/";
  if (how.is_shared()) return "s/";
  return "p" + hexadecimal(how.limit(), 5) + "/";
}

std::optional<mode> mode_of(std::string_view folder) {
  if (folder == "x") return mode::exclusive();
  if (folder == "s") return mode::shared();
  if (folder.size() != 6 || folder[0] != 'p') return {};
  const auto n = whole_number<std::uint32_t>(folder.substr(1), 16);
  if (!n || *n == 0 || *n > mode::permits_max) return {};
  return mode::permits(*n);
}

}  // namespace

span key_space::sessions() const { return below(prefix_ + "s/"); }
span key_space::queues() const { return below(prefix_ + "q/"); }

std::string key_space::session(const session_id& id) const { return prefix_ + "s/" + id.str(); }

// From d up to h, so without the beat, which is there from the first heartbeat on.
span key_space::deny_and_gate(const session_id& id) const {
  const std::string first = session(id);
  return {first + "/d", first + "/h"};
}

// '0' follows '/', and ids are of one length: nobody else's key lies between.
span key_space::all_of(const session_id& id) const {
  const std::string first = session(id);
  return {first, first + '0'};
}

span key_space::queue(const lock_name& name) const {
  return below(prefix_ + "q/" + escaped(name.str()) + "/");
}

span key_space::entries(const lock_name& name, const mode& how) const {
  return below(queue(name).key + folder_of(how));
}

std::vector<span> key_space::disagreeing(const lock_name& name, const mode& how) const {
  const span all = queue(name);
  // In order: p....., s, x.
  if (!how.is_permits()) return {{all.key, all.key + "q"}};
  const span own = entries(name, how);
  return {{all.key, own.key}, {own.end, all.end}};
}

std::string key_space::entry(const lock_name& name, const mode& how, const session_id& id,
                             std::uint64_t inc, std::uint64_t request) const {
  return entries(name, how).key + id.str() + "." + hexadecimal(inc) + "." + hexadecimal(request);
}

std::optional<key_space::session_part> key_space::parse_session(std::string_view key) const {
  const span all = sessions();
  if (!key.starts_with(all.key)) return {};
  std::string_view rest = key.substr(all.key.size());
  const auto id = session_id::parse(core::cut(rest, '/'));
  if (!id) return {};
  using kind = session_part::kind;
  if (rest.empty()) return session_part{*id, kind::record};
  if (rest == "beat") return session_part{*id, kind::beat};
  if (rest == "deny") return session_part{*id, kind::deny};
  if (rest == "gate") return session_part{*id, kind::gate};
  return {};
}

std::optional<key_space::entry_part> key_space::parse_entry(std::string_view key) const {
  const span all = queues();
  if (!key.starts_with(all.key)) return {};
  std::string_view rest = key.substr(all.key.size());
  const auto name = core::percent_unescape(core::cut(rest, '/'), escaped_too);
  const auto how = mode_of(core::cut(rest, '/'));
  const auto id = session_id::parse(core::cut(rest, '.'));
  const auto inc = whole_number<std::uint64_t>(core::cut(rest, '.'), 16);
  const auto request = whole_number<std::uint64_t>(rest, 16);
  if (!name || !lock_name(*name).check() || !how || !id || !inc || !request) return {};
  return entry_part{lock_name(*name),
                    {.owner = *id, .inc = *inc, .request = *request, .how = *how}};
}

}  // namespace holdfast::engines::etcd
