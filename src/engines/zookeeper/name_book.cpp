#include "engines/zookeeper/name_book.hpp"

#include "io/thread/loop.hpp"

#include <holdfast/clock.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

constexpr duration patience = std::chrono::seconds{1};

}  // namespace

name_book::name_book(std::vector<io::node_address> servers, const std::shared_ptr<io::loop>& l,
                     on_found then)
    : loop_(l), then_(std::move(then)) {
  for (auto& s : servers) entries_.push_back({.server = std::move(s)});
}

void name_book::look_up() {
  const auto on = loop_.lock();
  if (!on || std::exchange(gathers_, true)) return;
  for (auto& e : entries_) e.waits = true;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    io::look_up(entries_[i].server, [weak = weak_from_this(), l = loop_, i](auto found) {
      // It answers on a thread of its own, and perhaps when the loop is gone.
      const auto loop = l.lock();
      if (!loop) return;
      loop->post([weak, i, found = std::move(found)] {
        if (const auto self = weak.lock()) self->took(i, found);
      });
    });
  }
  on->at(clock::now() + patience, [weak = weak_from_this(), round = ++round_] {
    const auto self = weak.lock();
    if (self && self->gathers_ && self->round_ == round) self->tell();
  });
}

void name_book::took(std::size_t number, const result<std::vector<io::socket_address>>& found) {
  auto& e = entries_[number];
  e.waits = false;
  e.trouble = found ? std::string() : found.error().message();
  if (found) e.last = *found;
  if (!gathers_) return then_(false);
  if (!waits()) tell();
}

void name_book::tell() {
  gathers_ = false;
  for (auto& e : entries_) {
    if (e.waits) e.trouble = io::no_address_yet(e.server, patience);
  }
  then_(!waits());
}

std::vector<io::socket_address> name_book::addresses() const {
  std::vector<io::socket_address> all;
  for (const auto& e : entries_) all.insert(all.end(), e.last.begin(), e.last.end());
  return all;
}

bool name_book::waits() const {
  return std::ranges::any_of(entries_, [](const entry& e) { return e.waits; });
}

std::string name_book::trouble() const {
  for (const auto& e : entries_) {
    if (!e.trouble.empty()) return e.trouble;
  }
  return {};
}

}  // namespace holdfast::engines::zookeeper
