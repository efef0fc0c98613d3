// expect: no match for call|no matching function
#include <holdfast/guarded.hpp>

#include <chrono>

using holdfast::fencing_token;

holdfast::result<void> store(holdfast::lock& held, int row) {
  using namespace std::chrono_literals;
  holdfast::fenced_write save([](const fencing_token&, int) {});
#if defined(MISUSE)
  static_cast<void>(held);
  return save(100ms, row);
#else
  return save(held, 100ms, row);
#endif
}
