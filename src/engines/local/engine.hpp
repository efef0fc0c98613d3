#pragma once

#include "core/engine.hpp"
#include "engines/local/environment.hpp"

#include <memory>
#include <utility>

namespace holdfast::engines::local {

/// core::engine on one environment. Every operation is one transaction under the store's gate and
/// answers before it returns. Its answers equal core::ledger's.
///
/// Thread safety: as core::engine.
class local_engine : public core::engine {
 public:
  explicit local_engine(std::shared_ptr<environment> store) : store_(std::move(store)) {}

  void open(const core::open_request& r, core::on<core::open_reply> done) override;
  void beat(const core::beat_request& r, core::on<core::beat_reply> done) override;
  void close(const core::close_request& r, core::on<core::reply> done) override;
  void enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) override;
  void leave(const core::leave_request& r, core::on<core::leave_reply> done) override;
  void confirm(const core::confirm_request& r, core::on<core::queue_view> done) override;
  void take(const core::take_request& r, core::on<core::take_reply> done) override;
  void deny(const core::deny_request& r, core::on<core::deny_reply> done) override;
  std::unique_ptr<core::watch_handle> watch(const core::watch_request& r,
                                            std::function<void()> notify) override;
  bool lend(core::parking& until) override;
  void list(core::on<core::listing> done) override;
  void glance(const core::glance_request& r, core::on<core::glance_reply> done) override;

 private:
  std::shared_ptr<environment> store_;
};

}  // namespace holdfast::engines::local
