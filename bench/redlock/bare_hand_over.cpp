#include "bench/redlock/bare_hand_over.hpp"

#include "bench/measure.hpp"
#include "wire/resp_writer.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace holdfast::bench {

namespace {

constexpr const char* name = "bare:handed";
constexpr const char* release_and_tell =
    "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end "
    "redis.call('del', KEYS[1]) redis.call('publish', KEYS[1], '') return 1";

std::vector<int> three_times(const std::vector<int>& ports) {
  std::vector<int> all;
  for (int i = 0; i < 3; ++i) all.insert(all.end(), ports.begin(), ports.end());
  return all;
}

}  // namespace

bare_hand_over::bare_hand_over(const std::vector<int>& ports)
    : count_(ports.size()), nodes_(three_times(ports)), texts_(nodes_, false) {
  for (std::size_t i = 0; i < count_; ++i) {
    bytes_.clear();
    wire::resp_writer(bytes_).command("SCRIPT", "LOAD", release_and_tell);
    release_ = text_of(nodes_.ask(node(part::one, i), bytes_));
    bytes_.clear();
    wire::resp_writer(bytes_).command("SUBSCRIBE", name);
    nodes_.ask(node(part::told, i), bytes_);
  }
}

std::size_t bare_hand_over::node(part p, std::size_t i) const noexcept {
  return static_cast<std::size_t>(p) * count_ + i;
}

void bare_hand_over::queue(part p, const std::string& bytes) {
  for (std::size_t i = 0; i < count_; ++i) {
    nodes_.queue(node(p, i), bytes, static_cast<std::uint64_t>(p));
  }
}

void bare_hand_over::acquire(part by, std::string& value) {
  value = texts_.value(++number_);
  for (std::size_t i = 0; i < count_; ++i) {
    texts_.acquire(bytes_, i, name, value, 0);
    nodes_.queue(node(by, i), bytes_, static_cast<std::uint64_t>(by));
  }
  nodes_.flush();
}

std::vector<double> bare_hand_over::run(std::size_t often, double hold) {
  std::vector<double> took;
  std::string value;
  std::string next_value;
  part holder = part::one;
  part next = part::other;
  acquire(holder, value);
  for (std::size_t left = count_; left > 0;) nodes_.turn([&](const auto&) { --left; });
  for (std::size_t k = 0; k <= often; ++k) {
    if (hold > 0) std::this_thread::sleep_for(std::chrono::duration<double>(hold));
    bytes_.clear();
    wire::resp_writer(bytes_).command("EVALSHA", release_, 1, name, value);
    const double began = now_us();
    queue(holder, bytes_);
    queue(part::told, {});  // A message is an answer that nobody asked for.
    nodes_.flush();
    const double had = settle(next, next_value, k < often);
    if (k == often) break;
    took.push_back(had - began);
    std::swap(holder, next);
    std::swap(value, next_value);
  }
  return took;
}

double bare_hand_over::settle(part next, std::string& value, bool hands_over) {
  const std::size_t majority = count_ / 2 + 1;
  std::size_t left = hands_over ? 3 * count_ : 2 * count_;
  std::size_t told = 0;
  std::size_t granted = 0;
  double had = 0;
  while (left > 0) {
    bool asks = false;
    nodes_.turn([&](const bare_nodes::answer& a) {
      --left;
      if (a.tag == static_cast<std::uint64_t>(part::told) && ++told == majority) asks = hands_over;
      if (a.tag == static_cast<std::uint64_t>(next) && a.yes && ++granted == majority) {
        had = now_us();
      }
    });
    if (asks) acquire(next, value);
  }
  return had;
}

}  // namespace holdfast::bench
