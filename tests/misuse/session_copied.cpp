// expect: use of deleted function .*session::session\(const
#include <holdfast/session.hpp>

holdfast::session second(holdfast::session& first) {
#if defined(MISUSE)
  return first;
#else
  return std::move(first);
#endif
}
