#pragma once

#include "core/engine.hpp"
#include "engines/redlock/replies.hpp"

#include <map>

namespace holdfast::engines::redlock {

/// What the nodes together have of sessions.
using session_records = std::map<session_id, core::session_record>;

/// One node's record, to what others have of the same session: who it is says one that a session
/// has opened, and it is denied when any node denies it.
void add_record(session_records& all, const session_id& id, const session_fields& f);

}  // namespace holdfast::engines::redlock
