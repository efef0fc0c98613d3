// expect: could not convert|no matching function|cannot convert
#include <holdfast/session.hpp>

holdfast::result<holdfast::lock> take(holdfast::session& s, std::string text) {
#if defined(MISUSE)
  return s.acquire(text);
#else
  return s.acquire(holdfast::lock_name(text));
#endif
}
