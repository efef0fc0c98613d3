#pragma once

#include <holdfast/error.hpp>

#include <string>

namespace holdfast::io {

/// Where the life locks of this user's sessions on a store without a directory are: made, with mode
/// 0700, in `$HOLDFAST_RUN_DIRECTORY`, else in `/run/holdfast` for root, else in
/// `$XDG_RUNTIME_DIR/holdfast`, else in `/tmp/holdfast-UID`. `store` names the store: each has a
/// folder of its own, for what one store does not know another may still need.
///
/// Processes that see another folder, or another name for the same store, cannot prove each other's
/// death; then the ttl decides.
/// Errors: `unavailable` when there is none that only this user may write to, or no boot id by
/// which to tell this kernel's files; `unsupported` on a file system that is not known to be local;
/// `invalid_argument` where `$HOLDFAST_RUN_DIRECTORY` is no absolute path.
result<std::string> life_directory_of(const std::string& store);

/// Makes one of those again that was removed meanwhile, as with the user's last login, or by what
/// cleans /tmp. False: it is there, so that is not why it could not be used.
/// Errors: as above.
result<bool> make_life_directory_again(const std::string& directory);

}  // namespace holdfast::io
