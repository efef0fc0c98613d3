#pragma once

#include "core/engine.hpp"

#include <holdfast/error.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/session_id.hpp>

#include <stop_token>
#include <string>
#include <string_view>

namespace holdfast::client {

/// The public error for an engine's answer that is not a success: "WHAT in URL: the engine's text".
error failure(const core::reply& r, std::string_view what, std::string_view url);

/// The same of a question that changes nothing: one that was not answered is no outcome that is
/// unknown.
error look_failure(core::reply r, std::string_view what, std::string_view url);

/// The error of a session that ended in state `to`.
error over_error(session_state to, const std::string& reason, const session_id& id);

/// What every call on an object that was inherited through fork(2) answers.
error forked_error();
/// Where that is a stop token: stop is requested.
std::stop_token forked_stop();
/// What is answered on a thread of the library to a call that would have to wait.
error unwaited_error(std::string_view what, std::string_view url);
/// What is answered once the end of the program has stopped the threads that would ask the store.
error ending_error();

}  // namespace holdfast::client
