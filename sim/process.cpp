#include "sim/process.hpp"

#include "sim/session_driver.hpp"
#include "sim/store.hpp"

#include <algorithm>

namespace holdfast::sim {

process::process(context& c, oracle& judge, int index, host& machine)
    : context_(c), judge_(judge), index_(index), machine_(machine) {}

process::~process() = default;

void process::start(std::vector<std::unique_ptr<store>>& stores) {
  dead_.clear();
  alive_ = true;
  ++incarnation_;
  resumes_ = {};
  mute_until_.assign(stores.size(), moment{});
  deaf_until_.assign(stores.size(), moment{});
  const int n = context_.dice.between(1, context_.setup.sessions);
  for (int i = 0; i < n; ++i) {
    store& s = *stores[context_.dice.below(stores.size())];
    sessions_.push_back(std::make_unique<session_driver>(context_, judge_, *this, s));
  }
  for (auto& s : sessions_) s->open_new();
}

void process::crash() {
  if (!alive_) return;
  context_.log.note(context_.time.now(), "process dies", -1, index_);
  alive_ = false;
  for (auto& s : sessions_) dead_.push_back(std::move(s));
  sessions_.clear();
}

void process::pause(duration how_long) {
  context_.log.note(context_.time.now(), "process stops for ms", -1, index_,
                    how_long / std::chrono::milliseconds{1});
  resumes_ = std::max(resumes_, context_.time.now() + how_long);
}

void process::cut(int store, duration how_long, bool questions, bool answers) {
  if (!alive_) return;
  context_.log.note(context_.time.now(), "process cut off from store", -1, index_, store);
  const auto i = static_cast<std::size_t>(store);
  const moment until = context_.time.now() + how_long;
  if (questions) mute_until_[i] = std::max(mute_until_[i], until);
  if (answers) deaf_until_[i] = std::max(deaf_until_[i], until);
}

bool process::is_heard_by(int store) const noexcept {
  return mute_until_[static_cast<std::size_t>(store)] <= context_.time.now();
}

bool process::hears(int store) const noexcept {
  return deaf_until_[static_cast<std::size_t>(store)] <= context_.time.now();
}

bool process::survives_step() {
  if (context_.mishap(context_.setup.crash_step)) crash();
  return alive_;
}

}  // namespace holdfast::sim
