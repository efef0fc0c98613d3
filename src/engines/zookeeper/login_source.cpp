#include "engines/zookeeper/login_source.hpp"

#include "io/file/password_file.hpp"

#include <chrono>

namespace holdfast::engines::zookeeper {

namespace {

constexpr duration pause = std::chrono::seconds{1};

}  // namespace

std::string login_source::now() const {
  if (set_.user.empty()) return {};
  return set_.user + ":" + io::password_again(set_.password_file, set_.password);
}

bool login_source::was_replaced() {
  if (set_.password_file.empty() || clock::now() < looks_again_) return false;
  looks_again_ = clock::now() + pause;
  return now() != taken_;
}

}  // namespace holdfast::engines::zookeeper
