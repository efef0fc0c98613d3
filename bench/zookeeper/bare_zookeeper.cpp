#include "bench/zookeeper/bare_zookeeper.hpp"

#include "bench/many_sessions.hpp"
#include "bench/measure.hpp"

#include <poll.h>

#include <algorithm>
#include <stdexcept>

namespace holdfast::bench {

namespace {

constexpr const char* root = "/bare";
constexpr const char* session = "/bare/session";

void need(int code, const char* what) {
  if (code != ZOK && code != ZNODEEXISTS) {
    throw std::runtime_error(std::string("bare ZooKeeper: ") + what + ": " + zerror(code));
  }
}

}  // namespace

bare_zookeeper::bare_zookeeper(const std::string& server, std::size_t names) {
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  zoo_deterministic_conn_order(1);
  handle_ = zookeeper_init(server.c_str(), nullptr, 30'000, nullptr, nullptr, 0);
  if (handle_ == nullptr) throw std::runtime_error("bare ZooKeeper: no handle");
  zoo_set_servers_resolution_delay(handle_, -1);
  while (zoo_state(handle_) != ZOO_CONNECTED_STATE) turn();
  make(root);
  make(session);
  for (std::size_t i = 0; i < names; ++i) {
    callers_.push_back(
        {.all = this, .parent = std::string(root) + "/" + std::to_string(i), .made = {}});
    make(callers_.back().parent);
  }
}

bare_zookeeper::~bare_zookeeper() { zookeeper_close(handle_); }

void bare_zookeeper::make(const std::string& path) {
  bool done = false;
  need(zoo_acreate(
           handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT,
           [](int code, const char*, const void* data) {
             need(code, "create");
             *static_cast<bool*>(const_cast<void*>(data)) = true;
           },
           &done),
       "create");
  await(done);
}

void bare_zookeeper::await(const bool& done) {
  while (!done) turn();
}

void bare_zookeeper::turn() {
  int fd = -1;
  int interest = 0;
  timeval left{};
  zookeeper_interest(handle_, &fd, &interest, &left);
  pollfd one{.fd = fd, .events = 0, .revents = 0};
  if ((interest & ZOOKEEPER_READ) != 0) one.events |= POLLIN;
  if ((interest & ZOOKEEPER_WRITE) != 0) one.events |= POLLOUT;
  ::poll(&one, 1, static_cast<int>(left.tv_sec * 1000 + left.tv_usec / 1000));
  int events = 0;
  if ((one.revents & POLLIN) != 0) events |= ZOOKEEPER_READ;
  if ((one.revents & POLLOUT) != 0) events |= ZOOKEEPER_WRITE;
  while (zookeeper_process(handle_, events) == ZOK && (events & ZOOKEEPER_READ) != 0) {
    events = ZOOKEEPER_READ;
  }
}

void bare_zookeeper::answered(caller& c, int code) {
  need(code, "answer");
  if (--c.missing > 0) return;
  auto& all = *c.all;
  if (c.releasing) {
    ++all.pairs_;
    --all.busy_;
    if (now_us() < all.end_) all.begin(c);
    return;
  }
  if (!c.goes_on) return;
  c.releasing = true;
  c.missing = 1;
  const auto removed = [](int result, const void* data) {
    answered(*static_cast<caller*>(const_cast<void*>(data)), result);
  };
  need(zoo_adelete(all.handle_, c.made.c_str(), -1, removed, &c), "delete");
}

void bare_zookeeper::begin(caller& c) {
  ++busy_;
  c.releasing = false;
  c.missing = 3;
  const auto of = [](const void* data) -> caller& {
    return *static_cast<caller*>(const_cast<void*>(data));
  };
  static constexpr auto caller_of = of;
  need(zoo_acreate2(
           handle_, (c.parent + "/e-").c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE,
           ZOO_PERSISTENT_SEQUENTIAL,
           [](int code, const char* path, const Stat*, const void* data) {
             if (path != nullptr) caller_of(data).made = path;
             answered(caller_of(data), code);
           },
           &c),
       "create");
  need(
      zoo_aget_children(
          handle_, c.parent.c_str(), 0,
          [](int code, const String_vector*, const void* data) { answered(caller_of(data), code); },
          &c),
      "children");
  need(zoo_aexists(
           handle_, session, 0,
           [](int code, const Stat*, const void* data) { answered(caller_of(data), code); }, &c),
       "exists");
}

std::vector<double> bare_zookeeper::run_one(double seconds) {
  std::vector<double> took;
  const double end = now_us() + seconds * 1e6;
  for (std::size_t i = 0; now_us() < end; ++i) {
    auto& c = callers_[i % callers_.size()];
    c.goes_on = false;
    const double began = now_us();
    begin(c);
    while (c.missing > 0) turn();
    took.push_back(now_us() - began);
    end_ = 0;
    c.goes_on = true;
    c.missing = 1;
    answered(c, ZOK);
    while (busy_ > 0) turn();
  }
  return took;
}

std::uint64_t bare_zookeeper::run_all(double seconds) {
  pairs_ = 0;
  end_ = now_us() + seconds * 1e6;
  for (auto& c : callers_) {
    c.goes_on = true;
    begin(c);
  }
  while (busy_ > 0) turn();
  return pairs_;
}

std::vector<double> bare_zookeeper::run_deliveries(double seconds) {
  constexpr const char* watched = "/bare/watched";
  std::vector<double> took;
  for (const double end = now_us() + seconds * 1e6; now_us() < end;) {
    make(watched);
    bool armed = false;
    bool removed = false;
    bool fired = false;
    const auto set = [](int code, const Stat*, const void* data) {
      need(code, "exists");
      *static_cast<bool*>(const_cast<void*>(data)) = true;
    };
    need(zoo_awexists(
             handle_, watched,
             [](zhandle_t*, int type, int, const char*, void* data) {
               if (type == ZOO_DELETED_EVENT) *static_cast<bool*>(data) = true;
             },
             &fired, set, &armed),
         "watch");
    await(armed);
    settle();
    const double began = now_us();
    need(zoo_adelete(
             handle_, watched, -1,
             [](int code, const void* data) {
               need(code, "delete");
               *static_cast<bool*>(const_cast<void*>(data)) = true;
             },
             &removed),
         "delete");
    await(fired);
    took.push_back(now_us() - began);
    await(removed);
  }
  return took;
}

}  // namespace holdfast::bench
