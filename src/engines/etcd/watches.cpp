#include "engines/etcd/watches.hpp"

#include "core/assert.hpp"
#include "io/thread/random.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::etcd {

void watches::arm(std::uint64_t number, std::vector<std::string> keys, std::int64_t revision,
                  std::shared_ptr<io::notice> n) {
  for (const auto& key : keys) {
    auto [at, fresh] = keys_.try_emplace(key);
    at->second.waiting.push_back(number);
    if (!fresh) continue;  // It was armed while the key was there, and would have told.
    at->second.id = ++last_id_;
    at->second.from = revision + 1;
    key_of_.emplace(at->second.id, key);
    if (stream_ != 0) send(key, at->second);
  }
  HOLDFAST_ASSERT(key_of_.size() == keys_.size());
  const bool is_new = armed_.emplace(number, armed{std::move(keys), std::move(n)}).second;
  HOLDFAST_ASSERT(is_new);
  if (stream_ == 0) open();
}

void watches::forget(std::uint64_t number) {
  const auto found = armed_.find(number);
  if (found == armed_.end()) return;
  const auto keys = std::move(found->second.keys);
  armed_.erase(found);
  for (const auto& key : keys) {
    const auto at = keys_.find(key);
    if (at == keys_.end()) continue;
    std::erase(at->second.waiting, number);
    if (!at->second.waiting.empty()) continue;
    if (stream_ != 0 && at->second.sent) {
      server_->send(stream_, wire::etcd::encode_watch_cancel(at->second.id));
    }
    drop(at);
  }
}

void watches::drop(key_watches::iterator at) {
  key_of_.erase(at->second.id);
  keys_.erase(at);
  HOLDFAST_ASSERT(key_of_.size() == keys_.size());
}

void watches::send(const std::string& key, key_watch& w) {
  w.sent = true;
  server_->send(stream_, encode(wire::etcd::watch_deletions{{key}, w.from, w.id}));
}

void watches::open() {
  if (keys_.empty() || stream_ != 0) return;
  server_ = cluster_->preferred();
  if (!server_) return;  // moved() comes when one is ready.
  const auto first = keys_.begin();
  first->second.sent = true;
  const auto self = weak_from_this();
  // Which stream these are called for is known only once it is open; an older one may still speak.
  const auto number = std::make_shared<std::uint64_t>(0);
  stream_ = server_->open_stream(
      wire::etcd::watch_path,
      encode(wire::etcd::watch_deletions{{first->first}, first->second.from, first->second.id}),
      [self, number](std::string_view message) {
        const auto w = self.lock();
        if (w && w->stream_ == *number) w->took(message);
      },
      [self, number](const io::grpc_outcome&) {
        const auto w = self.lock();
        if (w && w->stream_ == *number) w->ended();
      });
  *number = stream_;
  for (auto at = std::next(first); at != keys_.end(); ++at) send(at->first, at->second);
}

void watches::ended() {
  stream_ = 0;
  server_.reset();
  open_later();
}

// Nothing is missed meanwhile: each watch begins where it began before.
void watches::give_up() {
  server_->cancel(stream_);
  ended();
}

void watches::open_later() {
  if (std::exchange(opens_later_, true)) return;
  const auto& l = cluster_->shared_loop();
  l->at(clock::now() + pause_.next(io::random_bits()), [self = weak_from_this()] {
    const auto w = self.lock();
    if (!w) return;
    w->opens_later_ = false;
    w->open();
  });
}

void watches::moved() {
  if (stream_ != 0) {
    const auto now = cluster_->preferred();
    if (now == server_ && server_->ready()) return;
    server_->cancel(stream_);
    stream_ = 0;
    server_.reset();
  }
  open();
}

void watches::took(std::string_view message) {
  const auto r = wire::etcd::decode_watch(message);
  if (!r) return give_up();
  // One that may not be made has no number: the token that the stream began with has expired, say.
  if (r->canceled && r->watch_id < 0) return give_up();
  const auto found = key_of_.find(r->watch_id);
  // It was forgotten or has fired, and its cancel is on the way.
  if (found == key_of_.end()) return;
  const std::string key = found->second;
  if (r->canceled) {
    if (r->compacted > 0) return fire(key);
    return give_up();
  }
  pause_.reset();
  const bool deleted = std::ranges::any_of(r->events, [](const auto& e) { return e.deleted; });
  if (deleted) return fire(key);
  // A watch that begins in the past is looked after by the server ten times a second only.
  if (r->created && r->head.revision >= keys_.find(key)->second.from) look_soon(key);
}

void watches::look_soon(const std::string& key) {
  to_look_at_.push_back(key);
  if (to_look_at_.size() > 1) return;
  cluster_->shared_loop()->post([self = weak_from_this()] {
    if (const auto w = self.lock()) w->look();
  });
}

void watches::look() {
  auto keys = std::exchange(to_look_at_, {});
  while (!keys.empty()) {
    const auto count = std::min(keys.size(), wire::etcd::txn_ops_max / 2);
    std::vector<std::string> some(keys.end() - static_cast<std::ptrdiff_t>(count), keys.end());
    keys.resize(keys.size() - count);
    wire::etcd::txn t;
    for (const auto& key : some) {
      t.then.push_back({wire::etcd::range{.keys = {key}, .count_only = true}});
    }
    cluster_->txn(t, repeat::always, [self = weak_from_this(), some](const txn_result& r) {
      const auto w = self.lock();
      if (!w || r.what != core::status::ok || r.reply->ops.size() != some.size()) return;
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (r.reply->ops[i].range.count == 0) w->fire(some[i]);
      }
    });
  }
}

void watches::fire(const std::string& key) {
  const auto at = keys_.find(key);
  if (at == keys_.end()) return;
  const auto waiting = at->second.waiting;
  if (stream_ != 0 && at->second.sent) {
    server_->send(stream_, wire::etcd::encode_watch_cancel(at->second.id));
  }
  drop(at);
  for (const auto number : waiting) {
    const auto found = armed_.find(number);
    if (found == armed_.end()) continue;
    const auto n = found->second.notice;
    n->fire();
  }
}

}  // namespace holdfast::engines::etcd
