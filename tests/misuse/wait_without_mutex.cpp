// expect: calling function 'wait' requires holding mutex 'mutex_'
#include "io/thread/condition.hpp"

class gate {
 public:
  void pass() {
#if !defined(MISUSE)
    const holdfast::io::held_mutex hold(mutex_);
#endif
    changed_.wait(mutex_);
  }

 private:
  holdfast::io::mutex mutex_;
  holdfast::io::condition changed_;
};
