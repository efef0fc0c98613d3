// expect: writing variable 'count_' requires holding mutex 'mutex_'
#include "io/thread/mutex.hpp"

class counter {
 public:
  void add() {
#if !defined(MISUSE)
    const holdfast::io::held_mutex hold(mutex_);
#endif
    ++count_;
  }

 private:
  holdfast::io::mutex mutex_;
  int count_ HOLDFAST_GUARDED_BY(mutex_){};
};
