#include "cli/waiting_line.hpp"

#include "cli/terminal.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace holdfast::cli {

namespace {

/// The first `columns` characters, cut between characters.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t bytes = 0;
  std::size_t seen = 0;
  for (; bytes < text.size(); ++bytes) {
    const bool starts = (static_cast<unsigned char>(text[bytes]) & 0xC0U) != 0x80U;
    if (starts && ++seen > columns) break;
  }
  return text.substr(0, bytes);
}

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

// From the background it would be written over what the user is typing. A terminal that is not ours
// is somebody's, too.
bool in_foreground() { return ::tcgetpgrp(STDERR_FILENO) == ::getpgrp(); }

}  // namespace

waiting_line::waiting_line(std::string lock, std::string store, const report& out)
    : lock_(std::move(lock)),
      store_(std::move(store)),
      out_(out),
      on_terminal_(!out.json() && ::isatty(STDERR_FILENO) != 0) {
  if (on_terminal_) screen_ = never_waiting(STDERR_FILENO);
}

void waiting_line::heard(const event::waiting& e) {
  const std::lock_guard hold(mutex_);
  latest_ = e;
}

/// No wider than `columns` where leaving out what matters less makes it so.
std::string waiting_line::text(const event::waiting& e, std::size_t columns) const {
  const std::string holder = e.first ? who(e.first->owner) : "somebody";
  const std::string place = e.ahead <= 1 ? "next" : fmt::format("{} ahead", e.ahead);
  // A terminal of 80 columns cuts the end: the place and the holder have to stand before it.
  constexpr std::size_t name_shown = 16;
  const bool all = out_.verbose() || columns_of(lock_) <= name_shown;
  const std::string name = all ? lock_ : cut(lock_, name_shown - 3) + "...";
  const std::string store = out_.verbose() ? "; " + store_ : "";
  const std::string asked = e.since == wall_time{} ? "" : ", which asked " + ago(e.since);
  const auto waited = "; waiting " + rounded(clock::now() - started_);
  if (e.ahead == 0) return fmt::format("\"{}\" is held{}{}", name, waited, store);
  std::string line = fmt::format("{} for \"{}\", held by {}", place, name, holder);
  const auto fits = [&](const std::string& more) {
    return columns_of(line) + columns_of(more) <= columns;
  };
  if (fits(asked + waited + store)) return line + asked + waited + store;
  if (fits(asked)) return line + asked;
  return fits(waited) ? line + waited : line;
}

/// Who stops the terminal after it was asked whether it takes a line keeps nobody in a write: the
/// lock that comes meanwhile would be held and nothing run.
void waiting_line::put(const std::string& text) const {
  const int fd = screen_ ? screen_.get() : STDERR_FILENO;
  // What is not taken is drawn again.
  [[maybe_unused]] const ssize_t taken = ::write(fd, text.data(), text.size());
}

void waiting_line::draw() {
  std::optional<event::waiting> now;
  {
    const std::lock_guard hold(mutex_);
    now = latest_;
  }
  if (!now) return;
  if (on_terminal_) {
    if (!in_foreground() || !takes_a_line()) return;
    const std::string label = "holdfast: ";
    const std::size_t width = terminal_width() - 1;
    put("\r" + cut(label + text(*now, width - label.size()), width) + "\x1b[K");
    drawn_ = true;
  } else if (now->ahead != ahead_said_) {
    ahead_said_ = now->ahead;
    out_.note(text(*now, std::string::npos));
  }
}

void waiting_line::erase() {
  if (drawn_ && in_foreground() && takes_a_line()) put("\r\x1b[K");
  drawn_ = false;
}

}  // namespace holdfast::cli
