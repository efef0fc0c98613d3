#pragma once

#include "core/engine.hpp"
#include "engines/redlock/cluster.hpp"

#include <memory>

namespace holdfast::engines::redlock {

/// The records of some sessions, by their ids, however many keys there are. A session that was
/// opened has a record on a majority of the nodes: a majority of those that kept their state has to
/// answer before one is said not to be there. One that was denied where nobody had opened it is
/// not.
void glance(const std::shared_ptr<cluster>& c, const core::glance_request& r,
            core::on<core::glance_reply> done);

}  // namespace holdfast::engines::redlock
