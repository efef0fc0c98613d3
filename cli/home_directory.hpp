#pragma once

#include <string>

namespace holdfast::cli {

/// The user's home, by HOME or, where that is not set or no absolute path, by the user database, as
/// the library finds it: a cron job or a service that has no HOME takes the settings and the store
/// of others of the same user. Empty when there is none.
std::string home_directory();

}  // namespace holdfast::cli
