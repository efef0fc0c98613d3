// expect: no match for call|no matching function
#include <holdfast/guarded.hpp>

#include <chrono>

using holdfast::fencing_token;

holdfast::result<void> store(holdfast::lock& held, int row) {
  using namespace std::chrono_literals;
#if defined(MISUSE)
  holdfast::fenced_write save([](int) {});
#else
  holdfast::fenced_write save([](const fencing_token&, int) {});
#endif
  return save(held, 100ms, row);
}
