#pragma once

#include "io/net/node_address.hpp"

#include <holdfast/error.hpp>

#include <string>
#include <vector>

namespace holdfast::io {

/// The servers of a store as one text, in an order of its own: equal wherever these names mean the
/// same servers. Where one of them means another server on every machine (localhost, a loopback
/// address, a unix socket), a mark of this machine follows.
/// Errors: `unavailable` when this machine has no mark (/etc/machine-id).
result<std::string> server_names(const std::vector<node_address>& servers);

}  // namespace holdfast::io
