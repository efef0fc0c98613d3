#pragma once

#include "core/engine.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/notice.hpp"

#include <memory>
#include <utility>

namespace holdfast::io {

/// Who watches: the notice is disarmed when this is destroyed, and `forget`, if there is one, runs
/// on the loop soon after.
class armed_notice final : public core::watch_handle {
 public:
  explicit armed_notice(std::shared_ptr<notice> n) : notice_(std::move(n)) {}
  armed_notice(std::shared_ptr<notice> n, std::shared_ptr<loop> l, loop::task forget)
      : notice_(std::move(n)), loop_(std::move(l)), forget_(std::move(forget)) {}
  ~armed_notice() override {
    notice_->disarm();
    if (forget_) loop_->post(std::move(forget_));
  }

 private:
  const std::shared_ptr<notice> notice_;
  const std::shared_ptr<loop> loop_;
  loop::task forget_;
};

}  // namespace holdfast::io
