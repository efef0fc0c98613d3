// expect: deleted (member )?function .*acquire_all
#include <holdfast/session.hpp>

holdfast::result<std::vector<holdfast::lock>> take(holdfast::session& s) {
#if defined(MISUSE)
  return s.acquire_all({"orders", "stock"});
#else
  return s.acquire_all({holdfast::lock_name("orders"), holdfast::lock_name("stock")});
#endif
}
