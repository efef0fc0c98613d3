#pragma once

namespace holdfast::cli {

/// Keeps the numbers 0, 1 and 2 from being given to files of the store when the program was started
/// with any of them closed: what is printed would be written into those files.
///
/// They stay as good as closed: reading and writing fail, and the command does not inherit them.
void reserve_standard_descriptors() noexcept;

}  // namespace holdfast::cli
