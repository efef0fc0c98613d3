#include "tests/fence/log_story.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::tests {

void log_story::open() {
  // Mostly a newer token; sometimes the same, or one that is too old.
  const auto luck = below(6);
  std::uint64_t token = token_ + (luck < 3 ? 1 + below(3) : 0);
  if (luck == 5 && token_ > 1) token = token_ - 1;
  if (token == 0) token = 1;
  tried_ = std::max(tried_, token);
  auto opened = machine_.open(token, options_);
  const bool off = machine_.disk().is_off();
  if (token < token_) {
    if (!off) {
      EXPECT_TRUE(!opened && (opened.error() == errc::stale_token || may_fail_));
    }
    return;
  }
  // Even one that failed may have raised the epoch, if there was one to raise.
  if (!opened && !made_) return;
  for (auto& w : writers_) w.newest = w.newest && !opened;
  failed_opening_ = !opened;
  token_ = token;
  if (!opened) {
    EXPECT_TRUE(off || may_fail_) << opened.error().message();
    return;
  }
  made_ = true;
  writers_.push_back({std::move(*opened), true});
  if (writers_.size() > 4) writers_.erase(writers_.begin());
}

void log_story::heard(const error& why, const std::string& record, bool newest) {
  if (machine_.disk().is_off()) {
    told_[record] = fate::unknown;
  } else if (why == errc::outcome_unknown) {
    told_[record] = fate::unknown;
  } else {
    EXPECT_TRUE(why == errc::stale_token || why == errc::invalid_argument || may_fail_)
        << why.message();
    EXPECT_FALSE(newest && !failed_opening_ && why == errc::stale_token) << why.message();
    told_[record] = fate::refused;
  }
}

void log_story::append() {
  if (writers_.empty()) return open();
  auto& w = writers_[below(writers_.size())];
  std::string record = "r" + std::to_string(next_name_++) + ".";
  record.resize(record.size() + below(below(4) == 0 ? 1500 : 40), 'x');
  const auto what = below(3) == 0 ? survives::power_loss : survives::kill;
  const auto got = w.log->append(bytes_of(record), what);
  if (!got) return heard(got.error(), record, w.newest);
  EXPECT_TRUE(w.newest) << "a replaced writer was told that " << record << " is in the log";
  told_[record] = fate::acknowledged;
  if (!number_.empty() && !order_.empty()) {
    EXPECT_GT(got->value, number_[order_.back()]);
  }
  number_[record] = got->value;
  order_.push_back(record);
  if (what == survives::power_loss) is_durable();
}

void log_story::is_durable() {
  for (const auto& record : order_) told_[record] = fate::durable;
}

void log_story::others() {
  if (writers_.empty()) return open();
  const auto at = below(writers_.size());
  auto& w = writers_[at];
  switch (below(6)) {
    case 0:
      if (w.log->sync()) is_durable();
      return;
    case 1:
      if (w.log->seal()) is_durable();
      w.newest = false;
      return;
    case 2:
      if (const auto left = w.log->discard_before({below(next_name_ + 1)})) {
        first_ = left->value;
      } else if (machine_.disk().is_off() || may_fail_) {
        first_ = UINT64_MAX;  // Without an answer nobody knows how many of them are gone.
      }
      return;
    case 3:
      (void)w.log->compact();
      return;
    default:
      // kill -9: its open calls and its memory are gone, the kernel's is not.
      writers_.erase(writers_.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void log_story::step(bool crashes) {
  const auto luck = below(20);
  if (luck < 3) return open();
  if (luck < 6) return others();
  if (luck == 6) return look();
  if (luck == 7 && crashes) return recover();
  append();
}

void log_story::play(int steps, bool crashes) {
  for (int i = 0; i < steps && !machine_.disk().is_off(); ++i) step(crashes);
}

namespace {

using records = std::vector<std::pair<std::uint64_t, std::string>>;

records read_all(log_machine& m, survives what) {
  records seen;
  const auto view = m.must_read({.durability = what});
  while (view) {
    auto got = view->next();
    if (!got) ADD_FAILURE() << got.error().message();
    if (!got || !*got) break;
    seen.emplace_back((*got)->number.value, text_of((*got)->bytes));
  }
  return seen;
}

}  // namespace

/// How many of the acknowledged records are there, from the first on.
std::size_t log_story::check(const records& seen, bool lost) {
  const std::uint64_t begin = seen.empty() ? 0 : seen.front().first;
  if (first_ == UINT64_MAX && !seen.empty()) first_ = begin;
  std::map<std::string, std::uint64_t> at;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto& [number, record] = seen[i];
    EXPECT_EQ(number, begin + i);
    EXPECT_TRUE(at.emplace(record, number).second) << record << " is there twice";
    const auto told = told_.find(record);
    EXPECT_TRUE(told != told_.end()) << record << " was never appended";
    if (told == told_.end()) continue;
    EXPECT_NE(told->second, fate::refused) << record << " was refused and is there";
    const auto before = number_.find(record);
    if (before != number_.end()) {
      EXPECT_EQ(number, before->second) << record;
    }
  }
  std::size_t there = 0;
  bool gap = false;
  for (const auto& record : order_) {
    if (number_[record] < first_) continue;
    const bool found = at.contains(record);
    if (found) {
      EXPECT_FALSE(gap) << record << " outlived one before it";
    }
    gap = gap || !found;
    there += found ? 1 : 0;
    if (!lost || told_[record] == fate::durable) {
      EXPECT_TRUE(found) << record << " was acknowledged and is missing";
    }
  }
  return there;
}

void log_story::look() {
  if (!made_) return;
  const auto seen = read_all(machine_, survives::kill);
  (void)check(seen, false);
  // Once read, it stays: as good as acknowledged, though a power loss may take it.
  order_.clear();
  for (const auto& [number, record] : seen) {
    number_[record] = number;
    order_.push_back(record);
    auto& told = told_[record];
    if (told == fate::unknown) told = fate::acknowledged;
  }
  for (const auto& [number, record] : read_all(machine_, survives::power_loss)) {
    told_[record] = fate::durable;
  }
}

void log_story::recover_with(std::uint64_t token) {
  writers_.clear();
  machine_.lose_power();
  token_ = tried_ = token;
  auto opened = machine_.open(token_, options_);
  ASSERT_TRUE(opened) << opened.error().message();
  made_ = true;
  writers_.push_back({std::move(*opened), true});
  const auto seen = read_all(machine_, survives::kill);
  (void)check(seen, true);
  // What is there now is all there will ever be of the past.
  order_.clear();
  number_.clear();
  for (auto& [record, told] : told_) told = fate::refused;
  for (const auto& [number, record] : seen) {
    number_[record] = number;
    order_.push_back(record);
    told_[record] = fate::durable;
  }
}

}  // namespace holdfast::tests
