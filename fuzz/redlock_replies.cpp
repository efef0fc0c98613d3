// Any stream of replies as the answers to every command of Redlock: nothing is out of its bounds,
// and what has no known form is a fault.
#include "engines/redlock/replies.hpp"

#include "fuzz/target.hpp"
#include "wire/resp_reader.hpp"

#include <holdfast/token.hpp>

using namespace holdfast;
using namespace holdfast::engines::redlock;
using core::redlock::node_vote;
using core::redlock::vote;

namespace {

void must_be_sound(const node_vote& v) {
  MUST((v.why == fault::none) == (v.what == vote::granted || v.what == vote::taken));
  MUST(v.counter <= token_max.value && v.epoch <= token_max.value);
  MUST(v.left >= duration::zero());
}

void must_be_sound(const timed_vote& v) {
  must_be_sound(v.vote);
  if (v.time) MUST(v.time->count() >= 0);
}

void votes(const wire::reply& r) {
  const timed_vote acquired = replies::acquire(r, 0);
  must_be_sound(acquired);
  // A node whose time heeds it has to give more.
  const auto back = replies::acquire(r, acquired.vote.counter);
  const bool heeds = acquired.time && acquired.time->count() > 0;
  if (heeds && acquired.vote.counter <= 86'400'000'000) MUST(back.vote.what != vote::granted);
  if (acquired.vote.what == vote::granted) MUST(acquired.vote.counter > 0 && acquired.time);
  must_be_sound(replies::set_plain(r));
  must_be_sound(replies::raise(r));
  must_be_sound(replies::repair(r));
  MUST(replies::repair(r).vote.counter == 0);
}

void extensions(const wire::reply& r, std::size_t locks) {
  for (const auto& read : {replies::renew(r, locks), replies::renew_plain(r, locks)}) {
    MUST(bool(read) == (read.why() == fault::none));
    if (read) MUST((read->answer.ours >> locks).none());
  }
}

void pages(const wire::reply& r) {
  const auto page = replies::list(r);
  if (!page) return;
  MUST(!page->next.empty());
  for (const auto& s : page->sessions) MUST(s.left >= duration::zero());
  for (const auto& l : page->locks) {
    MUST(l.left >= duration::zero() && l.counter <= token_max.value);
  }
}

void records(const wire::reply& r) {
  const auto look = replies::look(r);
  if (!look || !look->record) return;
  const auto& record = *look->record;
  MUST(!record.id.empty() && !record.nonce.empty() && !record.config_hash.empty());
  MUST(record.max_ttl > duration::zero() && record.max_ttl < duration::max());
  MUST(record.epoch <= token_max.value && record.floor <= token_max.value);
}

void all_others(const wire::reply& r) {
  static_cast<void>(replies::release(r));
  static_cast<void>(replies::open(r));
  static_cast<void>(replies::close(r));
  if (const auto denied = replies::deny(r)) MUST(denied->ttl >= duration::zero());
  MUST(replies::seal(r).floor <= token_max.value);
  static_cast<void>(replies::write(r));
  static_cast<void>(replies::load(r, {.name = "x", .text = "", .sha1 = "0123", .commands = {}}));
  if (const auto time = replies::time(r)) MUST(time->count() >= 0);
  static_cast<void>(replies::subscribe(r));
  static_cast<void>(replies::freed(r));
  MUST(replies::denial_text(r).size() < 400);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::size_t locks = data[0] % 101;
  wire::resp_reader reader;
  reader.feed({reinterpret_cast<const char*>(data) + 1, size - 1});
  while (const wire::reply* r = reader.next()) {
    votes(*r);
    extensions(*r, locks);
    pages(*r);
    records(*r);
    all_others(*r);
  }
  return 0;
}
