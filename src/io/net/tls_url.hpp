#pragma once

#include "core/store_url.hpp"
#include "io/net/tls_source.hpp"

#include <holdfast/error.hpp>

#include <memory>
#include <string>

namespace holdfast::io {

/// The URL's `ca`, `cert`, `key` and `verify`, read; null without +tls. `protocol` is what the
/// connection is for, by ALPN; empty: it is not said. A unix socket has no name: with one the name
/// cannot be asked for.
/// Errors: `invalid_argument`.
result<std::shared_ptr<tls_source>> tls_of(const core::store_url& url, std::string protocol = {});

}  // namespace holdfast::io
