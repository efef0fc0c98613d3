#include "engines/zookeeper/batch.hpp"

#include "core/assert.hpp"
#include "engines/zookeeper/answer_codes.hpp"

#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

using kind = zoo_request::kind;

bool writes(const zoo_request& r) {
  return r.what != kind::get && r.what != kind::children && r.what != kind::access &&
         r.what != kind::sync;
}

}  // namespace

void batch::begin_try(time_point now) {
  // One without a request would never be answered.
  HOLDFAST_ASSERT(!requests_.empty() && missing_ == 0);
  sent_ = now;
  missing_ = requests_.size();
  replies_.assign(requests_.size(), {});
}

bool batch::took(std::size_t number, zoo_reply r) {
  HOLDFAST_ASSERT(missing_ > 0);
  replies_[number] = std::move(r);
  return --missing_ == 0;
}

const zoo_reply* batch::judge() {
  // One write that was done, or may be, makes the outcome of the whole batch unknown when anything
  // in it is not answered.
  const zoo_reply* bad = nullptr;
  bool done = false;
  for (std::size_t i = 0; i < replies_.size(); ++i) {
    const auto& r = replies_[i];
    const bool changes = writes(requests_[i]);
    if (r.ok() && changes) done = true;
    if (is_answer(r.code)) continue;
    if (bad == nullptr) bad = &r;
    if (!is_refusal(r.code) && changes) done = true;
  }
  if (bad != nullptr && done) may_be_done_ = true;
  return bad;
}

void batch::succeed() {
  if (!done_) return;
  std::exchange(done_, nullptr)({{core::status::ok}, std::move(replies_)});
}

void batch::fail(core::reply why) {
  if (!done_) return;
  std::exchange(done_, nullptr)({std::move(why)});
}

}  // namespace holdfast::engines::zookeeper
