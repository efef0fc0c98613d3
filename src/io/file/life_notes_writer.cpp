#include "io/file/life_notes_writer.hpp"

#include "io/file/seen_lives.hpp"
#include "io/thread/background.hpp"
#include "io/thread/loop.hpp"

#include <thread>
#include <utility>

namespace holdfast::io {

life_notes_writer::life_notes_writer(life_notes_file file, life_notes read,
                                     const std::shared_ptr<loop>& l, listener then)
    : file_(std::move(file)), loop_(l), then_(std::move(then)), wanted_(std::move(read)) {}

life_notes_writer::life_notes life_notes_writer::seen_before() const {
  return lives_seen(file_.path());
}

void life_notes_writer::keep(const life_notes& notes) {
  bool begins = false;
  {
    const held_mutex hold(mutex_);
    if (notes == wanted_) return;
    wanted_ = notes;
    begins = is_to_begin();
  }
  remember_lives(file_.path(), notes);
  if (begins) begin();
}

bool life_notes_writer::is_to_begin() {
  pending_ = true;
  return !std::exchange(writing_, true);
}

/// The thread owns what it needs: its disk may hang for longer than anybody else is there.
void life_notes_writer::begin() {
  auto thread = start_thread("holdfast-notes", [self = shared_from_this()] { self->write(); });
  if (thread) return thread->detach();
  {
    const held_mutex hold(mutex_);
    writing_ = pending_ = false;
    trouble_ = thread.error().message();
    done_.notify_all();
  }
  // What the file has is not known, and nobody is told that anything is there.
  try_again();
}

void life_notes_writer::write() {
  for (;;) {
    life_notes asked;
    {
      const held_mutex hold(mutex_);
      if (!pending_) {
        writing_ = false;
        done_.notify_all();
        return;
      }
      pending_ = false;
      ++untold_;
      // The newest, whatever came while the last ones were written.
      asked = wanted_;
    }
    ended(asked, file_.keep(asked));
  }
}

void life_notes_writer::ended(const life_notes& asked, life_notes_file::outcome result) {
  const bool again = !result.trouble.empty() && file_.has_place();
  {
    const held_mutex hold(mutex_);
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

void life_notes_writer::tell(const life_notes& asked, const life_notes& there) {
  // Who sees that nothing is to come knows what came, and on whatever thread that is.
  then_(asked, there);
  const held_mutex hold(mutex_);
  --untold_;
}

void life_notes_writer::try_again() {
  const auto l = loop_.lock();
  if (!l) return;
  l->at(clock::now() + again_after, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const held_mutex hold(self->mutex_);
      if (!self->is_to_begin()) return;
    }
    self->begin();
  });
}

bool life_notes_writer::is_busy() const {
  const held_mutex hold(mutex_);
  return pending_ || untold_ > 0;
}

std::string life_notes_writer::trouble() const {
  const held_mutex hold(mutex_);
  return trouble_;
}

void life_notes_writer::wait(duration limit) {
  if (on_library_thread()) return;
  const auto until = std::chrono::steady_clock::now() + limit;
  const held_mutex hold(mutex_);
  while (writing_ && done_.wait_until(mutex_, until)) {
  }
}

}  // namespace holdfast::io
