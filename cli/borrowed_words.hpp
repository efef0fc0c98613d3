#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// What to say behind `typed`, which is no verb of ours but one that people know from another
/// program (flock, etcdctl, consul, kubectl) for the same task. Empty of other words.
std::string borrowed_verb(std::string_view typed);

/// The same of an option, for a verb that has the options `known`, and "NAME" among them when it
/// takes one.
std::string borrowed_option(std::string_view typed, const std::vector<std::string>& known);

}  // namespace holdfast::cli
