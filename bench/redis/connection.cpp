// One connection to one redis-server: SET NX PX and DEL of a name each, by 1, 64 and 1,024 callers
// at a time, beside a bare loop of epoll, send and recv that sends the same bytes.

#include "io/file/unique_fd.hpp"
#include "io/redis/redis_connection.hpp"
#include "io/thread/latch.hpp"
#include "io/thread/loop.hpp"
#include "tests/process/child.hpp"
#include "tests/process/loopback.hpp"
#include "wire/resp_writer.hpp"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace holdfast;

constexpr int port = 17'379;
constexpr auto run_time = 1s;
constexpr int rounds = 5;

struct numbers {
  double pairs_per_second{};
  double client_us{};  ///< CPU of the client for a pair.
  double calls{};      ///< Writes and reads of the client for a pair.
};

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

class stop_watch {
 public:
  bool is_over() const { return std::chrono::steady_clock::now() - began_ > run_time; }
  numbers read(std::uint64_t pairs, std::uint64_t calls) const {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began_;
    const auto count = static_cast<double>(pairs);
    return {.pairs_per_second = count / took.count(),
            .client_us = (cpu_seconds() - cpu_) * 1e6 / count,
            .calls = static_cast<double>(calls) / count};
  }

 private:
  std::chrono::steady_clock::time_point began_{std::chrono::steady_clock::now()};
  double cpu_{cpu_seconds()};
};

/// The two commands of one caller, made anew for every pair as a client must.
struct caller_text {
  explicit caller_text(std::uint64_t number) : name("bench:" + std::to_string(number)) {}
  const std::string& set() {
    bytes.clear();
    wire::resp_writer(bytes).command("SET", name, value, "NX", "PX", 30'000);
    return bytes;
  }
  const std::string& del() {
    bytes.clear();
    wire::resp_writer(bytes).command("DEL", name);
    return bytes;
  }
  std::string name;
  std::string value = std::string(40, 'f');
  std::string bytes;
};

// ---- the bare loop ----

io::unique_fd connected() {
  io::unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = process::loopback(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) std::abort();
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

class bare_loop {
 public:
  explicit bare_loop(std::uint64_t callers) {
    for (std::uint64_t i = 0; i < callers; ++i) texts_.emplace_back(i);
    epoll_event wanted{.events = EPOLLIN, .data = {}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd_.get(), &wanted);
  }

  numbers run() {
    const stop_watch watch;
    for (std::uint64_t i = 0; i < texts_.size(); ++i) queue(i, false);
    while (!waiting_.empty()) {
      flush();
      epoll_event got{};
      if (::epoll_wait(epoll_.get(), &got, 1, -1) == 1) receive(watch.is_over());
    }
    return watch.read(pairs_, calls_);
  }

 private:
  struct owed {
    std::uint64_t caller;
    bool is_del;
  };

  void queue(std::uint64_t caller, bool is_del) {
    out_ += is_del ? texts_[caller].del() : texts_[caller].set();
    waiting_.push_back({caller, is_del});
  }
  void flush() {
    if (out_.empty()) return;
    std::size_t sent = 0;
    while (sent < out_.size()) {
      const auto n = ::send(fd_.get(), out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
      if (n < 0) std::abort();
      sent += static_cast<std::size_t>(n);
      ++calls_;
    }
    out_.clear();
  }
  void receive(bool is_over) {
    const auto n = ::recv(fd_.get(), in_.data() + end_, in_.size() - end_, MSG_DONTWAIT);
    if (n <= 0) return;
    ++calls_;
    end_ += static_cast<std::size_t>(n);
    std::size_t at = 0;
    while (const void* found = std::memchr(in_.data() + at, '\n', end_ - at)) {
      at = static_cast<std::size_t>(static_cast<const char*>(found) - in_.data()) + 1;
      const owed o = waiting_.front();
      waiting_.pop_front();
      if (!o.is_del) {
        queue(o.caller, true);
      } else {
        ++pairs_;
        if (!is_over) queue(o.caller, false);
      }
    }
    std::memmove(in_.data(), in_.data() + at, end_ - at);
    end_ -= at;
  }

  io::unique_fd fd_ = connected();
  io::unique_fd epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  std::vector<caller_text> texts_;
  std::deque<owed> waiting_;
  std::string out_;
  std::vector<char> in_ = std::vector<char>(65'536);
  std::size_t end_{0};
  std::uint64_t pairs_{0};
  std::uint64_t calls_{0};
};

// ---- ours ----

class client {
 public:
  client() {
    connection_ = io::redis_connection::start(
        loop_, {.address = {.host = "127.0.0.1", .port = port, .path = {}}}, {});
    while (!connection_->is_up()) std::this_thread::sleep_for(1ms);
  }
  io::redis_connection& connection() { return *connection_; }
  io::loop& loop() { return *loop_; }
  std::uint64_t calls() const {
    const auto all = connection_->count();
    return all.writes + all.reads;
  }

 private:
  std::shared_ptr<io::loop> loop_{*io::loop::start()};
  std::unique_ptr<io::redis_connection> connection_;
};

/// Callers that live on the loop: what coroutines and callbacks do.
class callers final : public io::redis_receiver, public std::enable_shared_from_this<callers> {
 public:
  callers(client& c, std::uint64_t count) : client_(c) {
    for (std::uint64_t i = 0; i < count; ++i) texts_.emplace_back(i);
  }

  numbers run() {
    const auto before = client_.calls();
    client_.loop().post([this] {
      for (std::uint64_t i = 0; i < texts_.size(); ++i) send(i * 2, clock::now());
    });
    done_.wait();
    return watch_.read(pairs_, client_.calls() - before);
  }

  void answered(std::uint64_t tag, const io::redis_answer& a) override {
    if (a.what != io::redis_answer::outcome::reply) std::abort();
    if (tag % 2 == 0) return send(tag + 1, a.at);
    ++pairs_;
    if (a.at < end_) return send(tag - 1, a.at);
    if (++ended_ == texts_.size()) done_.open();
  }

 private:
  // The time of an answer is the time of what it causes: no look at the clock for each command.
  void send(std::uint64_t tag, time_point now) {
    auto& text = texts_[tag / 2];
    const auto sent = client_.connection().send({.bytes = tag % 2 == 0 ? text.set() : text.del(),
                                                 .deadline = now + 1s,
                                                 .receiver = shared_from_this(),
                                                 .tag = tag,
                                                 .may_fill = tag % 2 == 1});
    if (!sent) std::abort();
  }

  client& client_;
  stop_watch watch_;
  const time_point end_{clock::now() + run_time};
  std::vector<caller_text> texts_;
  std::uint64_t pairs_{0};
  std::size_t ended_{0};
  io::latch done_;
};

/// One thread that waits for every answer.
class blocked_caller {
 public:
  explicit blocked_caller(client& c) : client_(c) {}

  numbers run() {
    const auto before = client_.calls();
    const stop_watch watch;
    std::uint64_t pairs = 0;
    caller_text text(0);
    for (; !watch.is_over(); ++pairs) {
      ask(text.set());
      ask(text.del());
    }
    return watch.read(pairs, client_.calls() - before);
  }

 private:
  struct waiting final : io::redis_receiver {
    void answered(std::uint64_t, const io::redis_answer&) override { done.open(); }
    io::latch done;
  };

  void ask(const std::string& bytes) {
    const auto one = std::make_shared<waiting>();
    const auto sent =
        client_.connection().send({.bytes = bytes, .deadline = clock::now() + 1s, .receiver = one});
    if (!sent) std::abort();
    one->done.wait();
  }

  client& client_;
};

template <class Run>
numbers median_of(std::vector<numbers>& all, Run by) {
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return by(a) < by(b); });
  return all[all.size() / 2];
}

void compare(const char* name, std::uint64_t count, client& c, bool blocks) {
  std::vector<numbers> bare;
  std::vector<numbers> ours;
  for (int i = 0; i < rounds; ++i) {
    bare.push_back(bare_loop(count).run());
    ours.push_back(blocks ? blocked_caller(c).run() : std::make_shared<callers>(c, count)->run());
  }
  const auto speed = [](const numbers& n) { return n.pairs_per_second; };
  const auto b = median_of(bare, speed);
  const auto o = median_of(ours, speed);
  std::printf("%-22s bare %8.0f/s %5.2f us %5.3f calls | ours %8.0f/s %5.2f us %5.3f calls", name,
              b.pairs_per_second, b.client_us, b.calls, o.pairs_per_second, o.client_us, o.calls);
  std::printf(" | speed x%.2f, CPU x%.2f\n", o.pairs_per_second / b.pairs_per_second,
              o.client_us / b.client_us);
}

}  // namespace

int main() {
  const auto server =
      process::child::execute({"redis-server", "--port", std::to_string(port), "--bind",
                               "127.0.0.1", "--save", "", "--appendonly", "no"});
  client c;
  std::printf("SET NX PX + DEL, median of %d; CPU and system calls of the client for a pair\n",
              rounds);
  compare("1 caller on the loop", 1, c, false);
  compare("1 caller that blocks", 1, c, true);
  compare("64 callers", 64, c, false);
  compare("1024 callers", 1024, c, false);
}
