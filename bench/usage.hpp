#pragma once

namespace holdfast::bench {

/// CPU of this process so far.
double own_cpu_seconds();
/// Memory of this process in bytes.
double resident_bytes();

}  // namespace holdfast::bench
