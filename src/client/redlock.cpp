#include "client/store_core.hpp"

#include <holdfast/redlock.hpp>

namespace holdfast::redlock {

namespace {

result<std::shared_ptr<client::store_core>> open(std::string_view url) {
  auto store = client::store_core::open(url, missing::refuse);
  if (!store) return store;
  if (auto may = (*store)->may_wait("asking the nodes"); !may) return may.error();
  if ((*store)->opened().look_over) return store;
  return error(errc::unsupported,
               (*store)->url() + " has no nodes to set up; this is for redlock:// stores");
}

}  // namespace

result<overview> status(std::string_view url) {
  const auto store = open(url);
  return store ? (*store)->opened().look_over() : store.error();
}

result<overview> init(std::string_view url, const setup& how) {
  const auto store = open(url);
  return store ? (*store)->opened().init(how) : store.error();
}

result<overview> recover(std::string_view url, const setup& how) {
  const auto store = open(url);
  return store ? (*store)->opened().recover(how) : store.error();
}

}  // namespace holdfast::redlock
