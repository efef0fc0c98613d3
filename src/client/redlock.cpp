#include "client/store_core.hpp"
#include "core/store_url.hpp"

#include <holdfast/redlock.hpp>

namespace holdfast::redlock {

namespace {

error no_nodes(std::string_view of) {
  return {errc::unsupported,
          std::string(of) + " has no nodes to set up; this is for redlock:// stores"};
}

result<std::shared_ptr<client::store_core>> open(std::string_view url) {
  auto store = client::store_core::open(url, missing::refuse);
  if (!store) {
    // Whether a store of another kind is there does not matter.
    const auto scheme = core::store_url::scheme_of(url);
    const bool is_other = scheme && *scheme != "redlock" && store.error() != errc::invalid_argument;
    return is_other ? no_nodes(*scheme + ":") : store.error();
  }
  if (auto may = (*store)->may_wait("asking the nodes"); !may) return may.error();
  if ((*store)->opened().look_over) return store;
  return no_nodes((*store)->url());
}

}  // namespace

result<overview> status(std::string_view url) {
  const auto store = open(url);
  return store ? (*store)->opened().look_over() : store.error();
}

result<overview> init(std::string_view url, const init_options& options) {
  const auto store = open(url);
  return store ? (*store)->opened().init(options) : store.error();
}

result<overview> recover(std::string_view url, const recover_options& options) {
  const auto store = open(url);
  return store ? (*store)->opened().recover(options) : store.error();
}

}  // namespace holdfast::redlock
