#pragma once

namespace asio {
class io_context;
}

namespace holdfast::io {

/// Whose turn the calling thread runs (io/thread/turn.hpp); null: nobody's. In a place of its own,
/// for it is asked for with every command.
inline constinit thread_local const asio::io_context* running_here = nullptr;

}  // namespace holdfast::io
