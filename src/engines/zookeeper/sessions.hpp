#pragma once

#include "core/engine.hpp"
#include "engines/zookeeper/store.hpp"

#include <memory>

namespace holdfast::engines::zookeeper {

/// \file
/// The operations on session records. On the loop's thread only.

void open_session(const std::shared_ptr<store>& s, const core::session_record& draft,
                  core::on<core::open_reply> done);
void beat_session(const std::shared_ptr<store>& s, const core::beat_request& r,
                  core::on<core::beat_reply> done);
void close_session(const std::shared_ptr<store>& s, const core::close_request& r,
                   core::on<core::reply> done);
void take_session(const std::shared_ptr<store>& s, const core::take_request& r,
                  core::on<core::take_reply> done);
void deny_session(const std::shared_ptr<store>& s, const core::deny_request& r,
                  core::on<core::deny_reply> done);
void glance_at_sessions(const std::shared_ptr<store>& s, const core::glance_request& r,
                        core::on<core::glance_reply> done);

}  // namespace holdfast::engines::zookeeper
