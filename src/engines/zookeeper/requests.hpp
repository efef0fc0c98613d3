#pragma once

#include "io/zookeeper/zookeeper_connection.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::engines::zookeeper {

using io::zoo_code;
using io::zoo_reply;
using io::zoo_request;

// Requests, in short.
zoo_request get(std::string path);
zoo_request children_of(std::string path);
zoo_request access_of(std::string path);
zoo_request sync(std::string path);
zoo_request remove(std::string path, std::int32_t version = zoo_request::any_version);
zoo_request check(std::string path, std::int32_t version = zoo_request::any_version);
zoo_request create(std::string path, std::string data = {});
zoo_request put(std::string path, std::string data,
                std::int32_t version = zoo_request::any_version);
zoo_request all_or_none(std::vector<zoo_request> parts);

}  // namespace holdfast::engines::zookeeper
