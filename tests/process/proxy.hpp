#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <string>
#include <thread>

namespace holdfast::process {

/// A connection between client and server that misbehaves, on a port of its own.
///
/// Thread safety: every function, from any thread.
class proxy {
 public:
  /// In front of the server on this port.
  explicit proxy(int server_port);
  proxy(const proxy&) = delete;
  proxy& operator=(const proxy&) = delete;
  ~proxy();

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// Passes so many more bytes of replies on, and then ends every connection, once.
  void cut_after(std::int64_t reply_bytes) { cut_ = reply_bytes; }
  /// Whether the cut is still to come.
  bool will_cut() const { return cut_ >= 0; }
  /// Keeps every reply for so long.
  void delay(std::chrono::milliseconds d) { delay_ = d.count(); }
  /// Connections stay open and nothing passes.
  void swallow(bool on) { swallow_ = on; }
  /// The same for the connections that there are, for ever: those that are made later are served.
  void lose_all() { loses_ = true; }
  /// Connections that are made from now on end at another server.
  void lead_to(int server_port) { server_port_ = server_port; }
  /// So do those that there are, which stay open for their clients.
  void carry_to(int server_port) {
    server_port_ = server_port;
    carries_ = true;
  }
  std::uint64_t reply_bytes() const { return passed_; }

 private:
  struct link;
  void run();
  void accept_one();
  int connected() const;
  void carry_all();
  bool pass(link& l);
  bool take(link& l, int from);
  bool deliver(link& l);

  std::atomic<int> server_port_;
  int listener_{-1};
  int port_{};
  std::atomic<std::int64_t> cut_{-1};
  std::atomic<std::int64_t> delay_{};
  std::atomic<bool> swallow_{};
  std::atomic<bool> loses_{};
  std::atomic<std::uint64_t> passed_{};
  std::atomic<bool> carries_{};
  std::atomic<bool> over_{};
  std::list<link> links_;
  std::thread thread_;
};

}  // namespace holdfast::process
