#include "engines/zookeeper/paths.hpp"

#include "core/cut.hpp"
#include "core/hexadecimal.hpp"
#include "core/whole_number.hpp"
#include "engines/zookeeper/escaping.hpp"

#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

using core::hexadecimal;
using core::whole_number;

std::string letter_of(const mode& how) {
  if (how.is_exclusive()) return "x";
  if (how.is_shared()) return "s";
  return "p" + std::to_string(how.limit());
}

std::optional<mode> mode_of(std::string_view letter) {
  if (letter == "x") return mode::exclusive();
  if (letter == "s") return mode::shared();
  if (!letter.starts_with('p')) return {};
  const auto n = whole_number<std::uint32_t>(letter.substr(1));
  if (!n || *n == 0 || *n > mode::permits_max) return {};
  return mode::permits(*n);
}

}  // namespace

std::string paths::session_of_gate(const std::string& path) {
  constexpr std::string_view end = "/gate";
  return path.ends_with(end) ? path.substr(0, path.size() - end.size()) : std::string();
}

std::string paths::queue(const lock_name& name) const {
  return queues() + "/" + escaped(name.str(), escape_for::node);
}

std::string paths::entry(const lock_name& name, const core::entry& e, std::uint32_t nonce) const {
  return queue(name) + "/" + letter_of(e.how) + "." + e.owner.str() + "." + hexadecimal(e.inc) +
         "." + hexadecimal(e.request) + "." + hexadecimal(nonce) + ".";
}

std::optional<named_entry> named_entry::parse(std::string_view node) {
  std::string_view rest = node;
  const auto how = mode_of(core::cut(rest, '.'));
  const auto id = session_id::parse(core::cut(rest, '.'));
  const auto inc = whole_number<std::uint64_t>(core::cut(rest, '.'), 16);
  const auto request = whole_number<std::uint64_t>(core::cut(rest, '.'), 16);
  const auto nonce = whole_number<std::uint32_t>(core::cut(rest, '.'), 16);
  const auto order = whole_number<std::int32_t>(rest);
  if (!how || !id || !inc || !request || !nonce || !order) return {};
  return named_entry{.node = std::string(node),
                     .what = {.owner = *id, .inc = *inc, .request = *request, .how = *how},
                     .place = *order};
}

std::int32_t named_entry::arrivals_after(const named_entry& other) const noexcept {
  // Unsigned, for the difference of two signed numbers may overflow.
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(place) -
                                   static_cast<std::uint32_t>(other.place));
}

std::optional<lock_name> parse_queue(std::string_view node) {
  const auto name = unescaped(node);
  if (!name || !lock_name(*name).check()) return {};
  return lock_name(*name);
}

}  // namespace holdfast::engines::zookeeper
