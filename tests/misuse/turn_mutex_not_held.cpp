// expect: calling function 'add' requires holding mutex 'mutex_'
#include "io/thread/turn_mutex.hpp"

class counter {
 public:
  explicit counter(holdfast::io::loop& l) : mutex_(l) {}
  void count() {
#if !defined(MISUSE)
    const holdfast::io::held_mutex hold(mutex_);
#endif
    add();
  }

 private:
  void add() HOLDFAST_REQUIRES(mutex_) { ++count_; }
  holdfast::io::turn_mutex mutex_;
  int count_ HOLDFAST_GUARDED_BY(mutex_){};
};
