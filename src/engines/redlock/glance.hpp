#pragma once

#include "core/engine.hpp"
#include "engines/redlock/cluster.hpp"

#include <memory>

namespace holdfast::engines::redlock {

/// The records of some sessions, by their ids: what a majority of the nodes has of them, however
/// many keys there are. A session that was opened has a record on a majority, so that one of those
/// that answer knows it. One that was denied where nobody had opened it is not there.
void glance(const std::shared_ptr<cluster>& c, const core::glance_request& r,
            core::on<core::glance_reply> done);

}  // namespace holdfast::engines::redlock
