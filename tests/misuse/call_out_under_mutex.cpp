// expect: cannot call function 'tell' while mutex 'mutex_' is held
#include "io/thread/mutex.hpp"

class teller {
 public:
  void add() {
    holdfast::io::held_mutex hold(mutex_);
    ++count_;
#if !defined(MISUSE)
    hold.unlock();
#endif
    tell();
  }

 private:
  void tell() HOLDFAST_EXCLUDES(mutex_);
  holdfast::io::mutex mutex_;
  int count_ HOLDFAST_GUARDED_BY(mutex_){};
};
