#include "engines/redis/listing.hpp"

#include "core/fnv1a.hpp"
#include "core/replies.hpp"
#include "engines/redis/commands.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::redis {

namespace {

using core::status;

/// A few milliseconds of the server's time. A session with more locks than that is read in one step
/// all the same, up to the limits: Redis ends a connection that also listens for messages when 32
/// MB of answers wait to be read.
constexpr commands::list_bounds bounds{
    .sessions_max = 250, .entries_max = 2000, .entries_limit = 200'000, .bytes_limit = 24'000'000};
/// Sessions and locks; nobody can read more.
constexpr std::size_t shown_most = 1'000'000;
/// A server that says for ever that there is more.
constexpr std::size_t pages_most = 100'000;

/// Over all that is shown.
class fingerprint {
 public:
  void add(std::string_view text) noexcept {
    state_ = core::fnv1a(std::to_string(text.size()) + ":", state_);
    state_ = core::fnv1a(text, state_);
  }
  void add(std::uint64_t n) { add(std::to_string(n)); }
  std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_{core::fnv1a_basis};
};

std::uint64_t revision_of(const core::listing& l) {
  fingerprint f;
  for (const auto& s : l.sessions) {
    f.add(s.id.str());
    f.add(s.at.inc);
    f.add(s.at.beat);
    f.add(s.at.denied ? 1U : 0U);
    f.add(s.gate);
  }
  for (const auto& lock : l.locks) {
    f.add(lock.name.str());
    for (const auto& e : lock.entries) f.add(e.order.value);
  }
  return f.value();
}

}  // namespace

bool picture::add(std::string_view life, const replies::list_page& p) {
  if (life_.empty()) life_ = life;
  if (life_ != life) return false;
  for (const auto& s : p.sessions) {
    auto& m = members_[s.id];
    // SSCAN may give an element more than once.
    if (m.record.at.inc != 0) size_ -= 1 + m.entries.size();
    m = {s, {}};
    ++size_;
  }
  for (const auto& e : p.entries) {
    const auto owner = members_.find(e.what.owner);
    if (owner == members_.end() || owner->second.record.at.inc != e.what.inc) continue;
    owner->second.entries.push_back(e);
    ++size_;
  }
  return true;
}

core::listing picture::shown() const {
  core::listing all;
  all.what = status::ok;
  std::map<lock_name, std::vector<core::entry>> queues;
  for (const auto& [id, m] : members_) {
    all.sessions.push_back(m.record);
    for (const auto& e : m.entries) queues[e.name].push_back(e.what);
  }
  for (auto& [name, entries] : queues) {
    std::ranges::sort(entries, {}, &core::entry::order);
    all.locks.push_back({name, std::move(entries)});
  }
  all.revision = revision_of(all);
  return all;
}

void listing::ask() {
  const auto self = shared_from_this();
  server_->run(
      [self](std::string_view life) {
        self->life_ = life;
        return commands::list(life, bounds, self->cursor_, self->rest_);
      },
      master::copies::not_awaited, master::room::half,
      [self](const master::answer& a) { self->took(a); });
}

void listing::took(const master::answer& a) {
  if (a.reply == nullptr) return refuse(a.failure);
  const auto page = replies::list(*a.reply);
  if (!page) return refuse(replies::refusal_of_list(*a.reply));
  if (!picture_.add(life_, *page)) {
    return refuse({status::unavailable, "the server lost its state while it was read"});
  }
  // Of the sessions that are named the page was begun before.
  if (rest_.empty()) cursor_ = page->cursor;
  rest_ = page->rest;
  if (picture_.size() > shown_most || ++pages_ > pages_most) {
    return refuse({status::unavailable, "there are more than " + std::to_string(shown_most) +
                                            " sessions and locks, too many to be shown"});
  }
  if (!rest_.empty() || cursor_ != "0") return ask();
  done_(picture_.shown());
}

void listing::refuse(const core::reply& why) { done_(core::reply_with<core::listing>(why)); }

}  // namespace holdfast::engines::redis
