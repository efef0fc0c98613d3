#pragma once

#include "core/engine.hpp"
#include "engines/redlock/cluster.hpp"

#include <holdfast/session_id.hpp>

#include <functional>
#include <memory>
#include <string>

namespace holdfast::engines::redlock {

/// For people: the session that has the lock `name` on a majority of the nodes, within `limit`.
/// Null where that is not known: without tokens a key names no session, nor do the keys of other
/// clients; the votes are split; nodes are silent; the session is `own`.
void find_holder(const std::shared_ptr<cluster>& c, const std::string& name, const session_id& own,
                 duration limit,
                 std::function<void(std::shared_ptr<const core::session_record>)> done);

}  // namespace holdfast::engines::redlock
