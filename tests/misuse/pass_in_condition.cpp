// expect: use of deleted function .*operator bool
#include <holdfast/fence.hpp>

void write(holdfast::fence& f, const holdfast::fencing_token& t, void step()) {
#if defined(MISUSE)
  if (!f.enter(t)) return;
#else
  const auto pass = f.enter(t);
  if (!pass) return;
#endif
  step();
}
