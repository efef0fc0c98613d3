#include "io/first_sights_writer.hpp"

#include "io/background.hpp"
#include "io/loop.hpp"

#include <thread>
#include <utility>

namespace holdfast::io {

first_sights_writer::first_sights_writer(first_sights_file file, first_sights read,
                                         const std::shared_ptr<loop>& l, listener told)
    : file_(std::move(file)), loop_(l), told_(std::move(told)), wanted_(std::move(read)) {}

void first_sights_writer::keep(const first_sights& notes) {
  {
    const std::lock_guard hold(mutex_);
    if (notes == wanted_) return;
    wanted_ = notes;
    if (!is_to_begin()) return;
  }
  begin();
}

/// Under the mutex. False: the thread that writes will see that there is more.
bool first_sights_writer::is_to_begin() {
  pending_ = true;
  return !std::exchange(writing_, true);
}

/// The thread owns what it needs: its disk may hang for longer than anybody else is there.
void first_sights_writer::begin() {
  auto thread = start_thread("holdfast-notes", [self = shared_from_this()] { self->write(); });
  if (thread) return thread->detach();
  {
    const std::lock_guard hold(mutex_);
    writing_ = pending_ = false;
    trouble_ = thread.error().message();
    done_.notify_all();
  }
  // What the file has is not known, and nobody is told that anything is there.
  try_again();
}

void first_sights_writer::write() {
  for (;;) {
    first_sights asked;
    {
      const std::lock_guard hold(mutex_);
      if (!pending_) {
        writing_ = false;
        done_.notify_all();
        return;
      }
      pending_ = false;
      ++untold_;
      asked = wanted_;
    }
    ended(asked, file_.keep(asked));
  }
}

void first_sights_writer::ended(const first_sights& asked, first_sights_file::outcome result) {
  const bool again = !result.trouble.empty() && file_.has_place();
  {
    const std::lock_guard hold(mutex_);
    trouble_ = std::move(result.trouble);
  }
  const auto l = loop_.lock();
  if (!l) return;
  l->post([weak = weak_from_this(), asked, there = std::move(result.there), again] {
    const auto self = weak.lock();
    if (!self) return;
    self->tell(asked, there);
    if (again) self->try_again();
  });
}

void first_sights_writer::tell(const first_sights& asked, const first_sights& there) {
  // Who sees that nothing is to come knows what came, and on whatever thread that is.
  told_(asked, there);
  const std::lock_guard hold(mutex_);
  --untold_;
}

void first_sights_writer::try_again() {
  const auto l = loop_.lock();
  if (!l) return;
  l->at(clock::now() + again_after, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard hold(self->mutex_);
      if (!self->is_to_begin()) return;
    }
    self->begin();
  });
}

bool first_sights_writer::is_busy() const {
  const std::lock_guard hold(mutex_);
  return pending_ || untold_ > 0;
}

std::string first_sights_writer::trouble() const {
  const std::lock_guard hold(mutex_);
  return trouble_;
}

void first_sights_writer::wait(duration limit) {
  if (on_library_thread()) return;
  std::unique_lock hold(mutex_);
  done_.wait_for(hold, limit, [this] { return !writing_; });
}

}  // namespace holdfast::io
