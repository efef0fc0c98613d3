#include "engines/zookeeper/requests.hpp"

#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

using kind = zoo_request::kind;

}  // namespace

zoo_request get(std::string path) { return {.what = kind::get, .path = std::move(path)}; }
zoo_request children_of(std::string path) {
  return {.what = kind::children, .path = std::move(path)};
}
zoo_request access_of(std::string path) { return {.what = kind::access, .path = std::move(path)}; }
zoo_request sync(std::string path) { return {.what = kind::sync, .path = std::move(path)}; }
zoo_request remove(std::string path, std::int32_t version) {
  return {.what = kind::remove, .path = std::move(path), .version = version};
}
zoo_request check(std::string path, std::int32_t version) {
  return {.what = kind::check, .path = std::move(path), .version = version};
}
zoo_request create(std::string path, std::string data) {
  return {.what = kind::create, .path = std::move(path), .data = std::move(data)};
}
zoo_request put(std::string path, std::string data, std::int32_t version) {
  return {.what = kind::set, .path = std::move(path), .data = std::move(data), .version = version};
}
zoo_request all_or_none(std::vector<zoo_request> parts) {
  return {.what = kind::multi, .parts = std::move(parts)};
}

}  // namespace holdfast::engines::zookeeper
