#pragma once

#include "engines/redlock/cluster.hpp"

#include <holdfast/error.hpp>
#include <holdfast/redlock.hpp>

#include <memory>

namespace holdfast::engines::redlock {

/// The operator's part of holdfast/redlock.hpp. They block, so not on a thread of the library.
holdfast::redlock::overview look_over(const std::shared_ptr<cluster>& c);
result<holdfast::redlock::overview> init(const std::shared_ptr<cluster>& c,
                                         const holdfast::redlock::init_options& options);
result<holdfast::redlock::overview> recover(const std::shared_ptr<cluster>& c,
                                            const holdfast::redlock::recover_options& options);

}  // namespace holdfast::engines::redlock
