#include "io/net/dial.hpp"

#include "io/thread/loop.hpp"

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace holdfast::io {

/// The sockets that are being connected, by the number of their address.
class dial::tries {
 public:
  using socket = asio::posix::stream_descriptor;

  explicit tries(asio::io_context& context) : context_(context) {}

  socket& add(std::size_t number, unique_fd fd) {
    return open_.try_emplace(number, context_, fd.release()).first->second;
  }
  unique_fd take(std::size_t number) {
    const auto found = open_.find(number);
    unique_fd fd(found->second.release());
    open_.erase(found);
    return fd;
  }
  void clear() { open_.clear(); }
  bool empty() const noexcept { return open_.empty(); }

 private:
  asio::io_context& context_;
  std::map<std::size_t, socket> open_;
};

dial::dial(const std::shared_ptr<loop>& l, target to, on_end ended)
    : loop_(l),
      to_(std::move(to)),
      ended_(std::move(ended)),
      tries_(std::make_unique<tries>(l->context())) {}

dial::~dial() = default;

std::shared_ptr<dial> dial::make(const std::shared_ptr<loop>& l, target to, on_end ended) {
  return std::shared_ptr<dial>(new dial(l, std::move(to), std::move(ended)));
}

void dial::start() {
  // Whoever is told the end may drop it.
  const auto self = shared_from_this();
  next();
}

void dial::next() {
  while (next_ < to_.addresses.size()) {
    const auto number = next_++;
    auto fd = start_connecting(to_.addresses[number], to_.silence_max);
    if (!fd) {
      failures_.push_back({text_of(to_.addresses[number]), fd.error().message()});
      continue;
    }
    auto& socket = tries_->add(number, std::move(*fd));
    socket.async_wait(tries::socket::wait_write,
                      [weak = weak_from_this(), number](const asio::error_code& failed) {
                        const auto self = weak.lock();
                        if (!failed && self) self->answered(number);
                      });
    return await_answer(number);
  }
  if (tries_->empty()) std::exchange(ended_, nullptr)(refused_by_all());
}

void dial::await_answer(std::size_t number) {
  const auto l = loop_.lock();
  if (!l || next_ == to_.addresses.size()) return;
  l->at(clock::now() + to_.patience, [weak = weak_from_this(), number] {
    const auto self = weak.lock();
    // Unless the next one was begun because another refused.
    if (self && self->ended_ && self->next_ == number + 1) self->next();
  });
}

void dial::answered(std::size_t number) {
  if (!ended_) return;
  auto fd = tries_->take(number);
  if (const auto connected = end_connecting(fd.get()); !connected) {
    failures_.push_back({text_of(to_.addresses[number]), connected.error().message()});
    return next();
  }
  // Those that were slower are closed: one connection is asked for.
  tries_->clear();
  reached_ = number;
  std::exchange(ended_, nullptr)(std::move(fd));
}

error dial::refused_by_all() const {
  const auto& first = failures_.front();
  const bool says_nothing_new = failures_.size() == 1 && first.address == to_.host;
  if (says_nothing_new) return {errc::unavailable, "cannot connect: " + first.reason};
  const auto same = [&](const failure& f) { return f.reason == first.reason; };
  const bool all_the_same = std::ranges::all_of(failures_, same);
  // In an order of its own, so that the same is said the same way by whoever asks next.
  auto all = failures_;
  std::ranges::sort(all, {}, &failure::address);
  std::string text;
  for (const auto& f : all) {
    text += text.empty() ? "cannot connect to " : all_the_same ? " and " : ", to ";
    text += f.address;
    if (!all_the_same || &f == &all.back()) text += ": " + f.reason;
  }
  return {errc::unavailable, std::move(text)};
}

}  // namespace holdfast::io
