// expect: reading variable 'count_' requires holding mutex 'mutex_'
#include "io/thread/mutex.hpp"

class counter {
 public:
  int take() {
    holdfast::io::held_mutex hold(mutex_);
    const int all = count_;
    hold.unlock();
#if defined(MISUSE)
    return count_;
#else
    return all;
#endif
  }

 private:
  holdfast::io::mutex mutex_;
  int count_ HOLDFAST_GUARDED_BY(mutex_){};
};
