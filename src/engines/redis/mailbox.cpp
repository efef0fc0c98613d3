#include "engines/redis/mailbox.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::redis {

namespace {

constexpr std::size_t early_max = 1024;

}  // namespace

/// Keeps one watch armed.
class mailbox::armed final : public core::watch_handle {
 public:
  armed(std::weak_ptr<mailbox> box, token order, std::shared_ptr<io::notice> n)
      : box_(std::move(box)), order_(order), notice_(std::move(n)) {}
  ~armed() override {
    if (const auto box = box_.lock()) box->disarm(order_, notice_);
    notice_->disarm();
  }

 private:
  const std::weak_ptr<mailbox> box_;
  const token order_;
  const std::shared_ptr<io::notice> notice_;
};

void mailbox::expect(token order, const session_id& owner, bool in_order) {
  const io::held_mutex hold(mutex_);
  waiting& w = entries_[order.value];
  w.owner = owner;
  w.expected = true;
  // What was said before the view is in the view.
  if (in_order) w.rung = false;
  if (std::erase(early_, order.value) > 0) w.rung = true;
}

void mailbox::forget(token order) {
  const io::held_mutex hold(mutex_);
  const auto found = entries_.find(order.value);
  if (found == entries_.end()) return;
  found->second.expected = found->second.given = false;
  if (found->second.watchers.empty()) entries_.erase(found);
}

void mailbox::forget_all_of(const session_id& owner) {
  const io::held_mutex hold(mutex_);
  for (auto& [order, w] : entries_) {
    if (w.owner == owner) w.expected = w.given = false;
  }
  std::erase_if(entries_,
                [](const auto& e) { return !e.second.expected && e.second.watchers.empty(); });
}

void mailbox::ring(token order, bool holds) {
  notices due;
  {
    const io::held_mutex hold(mutex_);
    const auto found = entries_.find(order.value);
    if (found == entries_.end()) {
      if (early_.size() == early_max) early_.pop_front();
      early_.push_back(order.value);
      return;
    }
    due = found->second.watchers;
    found->second.rung = true;
    if (holds) found->second.given = true;
  }
  fire(due);
}

bool mailbox::take_grant(token order, const session_id& owner) {
  const io::held_mutex hold(mutex_);
  const auto found = entries_.find(order.value);
  return found != entries_.end() && found->second.owner == owner &&
         std::exchange(found->second.given, false);
}

void mailbox::ring_all() {
  notices due;
  {
    const io::held_mutex hold(mutex_);
    for (auto& [order, w] : entries_) {
      due.insert(due.end(), w.watchers.begin(), w.watchers.end());
      w.rung = true;
      // What was given came on a connection that may be gone: the look decides.
      w.given = false;
    }
  }
  fire(due);
}

void mailbox::fire(const notices& all) {
  for (const auto& n : all) n->fire();
}

std::unique_ptr<core::watch_handle> mailbox::watch(token order, std::function<void()> notify) {
  auto n = std::make_shared<io::notice>(std::move(notify));
  bool missed = false;
  {
    const io::held_mutex hold(mutex_);
    waiting& w = entries_[order.value];
    // Of an entry that nobody saw here anything may have happened before.
    missed = std::exchange(w.rung, false) || !w.expected;
    w.watchers.push_back(n);
  }
  if (missed) {
    loop_->post([n] { n->fire(); });
  }
  return std::make_unique<armed>(weak_from_this(), order, std::move(n));
}

void mailbox::disarm(token order, const std::shared_ptr<io::notice>& n) {
  const io::held_mutex hold(mutex_);
  const auto found = entries_.find(order.value);
  if (found == entries_.end()) return;
  std::erase(found->second.watchers, n);
  if (found->second.watchers.empty() && !found->second.expected) entries_.erase(found);
}

}  // namespace holdfast::engines::redis
