#include "tests/process/served_store.hpp"

#if defined(HOLDFAST_ENGINE_ETCD)
#include "tests/etcd/server.hpp"
#endif
#if defined(HOLDFAST_ENGINE_REDIS) || defined(HOLDFAST_ENGINE_REDLOCK)
#include "tests/redis_server/server.hpp"
#endif
#if defined(HOLDFAST_ENGINE_REDLOCK)
#include "tests/process/child.hpp"

#include <holdfast/redlock.hpp>

#include <array>
#include <stdexcept>
#endif
#if defined(HOLDFAST_ENGINE_ZOOKEEPER)
#include "tests/zookeeper/server.hpp"
#endif

namespace holdfast::process {

namespace {

#if defined(HOLDFAST_ENGINE_ETCD) || defined(HOLDFAST_ENGINE_ZOOKEEPER)
/// All of a program are on one server, each in a place of its own: it takes longer to start than
/// most tests.
template <class Servers>
class place_on_one final : public served_store {
 public:
  place_on_one() {
    static int made = 0;
    place_ = "t" + std::to_string(++made);
    running();
  }
  std::string url() const override { return running().url(place_) + "?node_timeout=500ms"; }
  std::string patient_url() const override { return running().url(place_) + "?node_timeout=3s"; }
  std::vector<pid_t> servers() const override { return {running().at(0).pid()}; }

 private:
  static Servers& running() {
    static Servers all;
    return all;
  }
  std::string place_;
};
#endif

#if defined(HOLDFAST_ENGINE_LOCAL)
class local_store final : public served_store {
 public:
  explicit local_store(const std::string& directory) : url_("local:" + directory + "/store") {}
  std::string url() const override { return url_; }

 private:
  const std::string url_;
};
#endif

#if defined(HOLDFAST_ENGINE_REDIS)
class redis_store final : public served_store {
 public:
  std::string url() const override {
    return "redis://" + server_.address() + "?assume_fresh=yes&max_ttl=1h";
  }
  std::vector<pid_t> servers() const override { return {server_.pid()}; }

 private:
  redis_tests::server server_;
};
#endif

#if defined(HOLDFAST_ENGINE_REDLOCK)
class redlock_store final : public served_store {
 public:
  redlock_store() {
    // In a process of its own: this one is to have no threads of the library when it forks.
    const auto made = child::fork([this] { return redlock::init(patient_url()) ? 0 : 1; }).wait();
    if (made != 0) throw std::runtime_error("redlock init in " + url() + " failed");
  }
  std::string url() const override { return all_nodes() + "250ms"; }
  std::string patient_url() const override { return all_nodes() + "3s"; }
  std::vector<pid_t> servers() const override {
    std::vector<pid_t> all;
    for (const auto& s : servers_) all.push_back(s.pid());
    return all;
  }

 private:
  std::string all_nodes() const {
    std::string all;
    for (const auto& s : servers_) all += (all.empty() ? "redlock://" : ",") + s.address();
    return all + "?max_ttl=1h&node_timeout=";
  }

  std::array<redis_tests::server, 5> servers_;
};
#endif

template <class Store>
std::unique_ptr<served_store> make(const std::string&) {
  return std::make_unique<Store>();
}

}  // namespace

std::vector<store_kind> local_stores() {
  std::vector<store_kind> all;
#if defined(HOLDFAST_ENGINE_LOCAL)
  all.push_back({"local", [](const std::string& directory) -> std::unique_ptr<served_store> {
                   return std::make_unique<local_store>(directory);
                 }});
#endif
  return all;
}

std::vector<store_kind> all_stores() {
  std::vector<store_kind> all = local_stores();
#if defined(HOLDFAST_ENGINE_ETCD)
  all.push_back({"etcd", make<place_on_one<etcd_tests::servers>>, std::chrono::seconds{1}});
#endif
#if defined(HOLDFAST_ENGINE_REDIS)
  all.push_back({"redis", make<redis_store>});
#endif
#if defined(HOLDFAST_ENGINE_ZOOKEEPER)
  all.push_back(
      {"zookeeper", make<place_on_one<zookeeper_tests::servers>>, std::chrono::seconds{1}});
#endif
  return all;
}

std::vector<store_kind> all_stores_and_redlock() {
  std::vector<store_kind> all = all_stores();
#if defined(HOLDFAST_ENGINE_REDLOCK)
  all.push_back({"redlock", make<redlock_store>, std::chrono::seconds{1}});
#endif
  return all;
}

std::string kind_name(const testing::TestParamInfo<store_kind>& info) { return info.param.name; }

}  // namespace holdfast::process
