#include "cli/process_tree.hpp"

#include "cli/descriptor.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace holdfast::cli {

namespace {

struct process_line {
  process_ref self;
  pid_t parent{};
  bool ended{};
  bool one_thread{};
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view field(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

/// proc(5): "pid (comm) state ppid ...", where comm may itself contain spaces and parentheses.
std::optional<process_line> read_process(pid_t pid) {
  std::array<char, 64> path{};
  snprintf(path.data(), path.size(), "/proc/%d/stat", static_cast<int>(pid));
  const descriptor fd(::open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t size = fd ? ::read(fd.get(), text.data(), text.size()) : -1;
  if (size <= 0) return std::nullopt;
  std::string_view rest(text.data(), static_cast<std::size_t>(size));
  const std::size_t close = rest.rfind(')');
  if (close == std::string_view::npos || close + 2 >= rest.size()) return std::nullopt;
  rest.remove_prefix(close + 2);
  process_line line;
  const char state = field(rest).front();
  const auto parent = number(field(rest));
  constexpr int between_parent_and_threads = 20 - 4 - 1;
  for (int i = 0; i < between_parent_and_threads; ++i) field(rest);
  const auto threads = number(field(rest));
  field(rest);  // itrealvalue
  const auto started = number(field(rest));
  if (!parent || !threads || !started) return std::nullopt;
  // The state is the first thread's alone: where that has ended, the others may run on.
  line.one_thread = *threads <= 1;
  line.ended = state == 'X' || (state == 'Z' && line.one_thread);
  line.parent = static_cast<pid_t>(*parent);
  line.self = {pid, *started};
  return line;
}

std::vector<pid_t> pids_in(int list) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = ::read(list, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  std::vector<pid_t> found;
  for (std::string_view rest(text); !rest.empty();) {
    if (const auto pid = number(field(rest))) found.push_back(static_cast<pid_t>(*pid));
  }
  return found;
}

/// A child of ours that /proc hides (hidepid, and a process that may not be traced); the kernel
/// lists it among our children all the same. Below it nothing is seen, but once it has ended its
/// children are a guardian's own.
constexpr std::uint64_t start_hidden = 0;

void add_hidden_children(std::vector<process_line>& found) {
  const descriptor fd = open_own_children();
  if (!fd) return;
  for (const pid_t child : pids_in(fd.get())) {
    if (::access(("/proc/" + std::to_string(child) + "/stat").c_str(), R_OK) == 0) continue;
    found.push_back({{child, start_hidden}, ::getpid(), false});
  }
}

std::vector<process_line> all_processes() {
  std::vector<process_line> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return found;
  while (const dirent* entry = ::readdir(proc.get())) {
    const auto pid = number(entry->d_name);
    if (!pid) continue;
    const auto line = read_process(static_cast<pid_t>(*pid));
    if (line && !line->ended) found.push_back(*line);
  }
  add_hidden_children(found);
  return found;
}

/// Ended or not, but not yet waited for: until then no other process gets its number.
bool is_our_child(const descriptor& process) {
  siginfo_t ignored{};
  constexpr int only_look = WEXITED | WNOHANG | WNOWAIT;
  return process && ::waitid(P_PIDFD, static_cast<id_t>(process.get()), &ignored, only_look) == 0;
}

bool is_in(const std::vector<process_ref>& all, const process_ref& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// By a look at every process of the machine.
std::vector<process_ref> scanned(pid_t root, const std::vector<process_ref>& spared) {
  const std::vector<process_line> all = all_processes();
  std::vector<process_ref> found;
  std::vector<pid_t> parents{root};
  while (!parents.empty()) {
    std::vector<pid_t> next;
    for (const process_line& line : all) {
      if (std::find(parents.begin(), parents.end(), line.parent) == parents.end()) continue;
      if (is_in(spared, line.self)) continue;
      found.push_back(line.self);
      next.push_back(line.self.pid);
    }
    parents = std::move(next);
  }
  return found;
}

bool has_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

/// What the kernel lists below one process, of all its threads; none where there is no list.
std::optional<std::vector<pid_t>> listed_children(const process_line& parent) {
  const std::string tasks = "/proc/" + std::to_string(parent.self.pid) + "/task";
  std::vector<std::string> threads;
  if (parent.one_thread) {
    threads.push_back(std::to_string(parent.self.pid));
  } else {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(tasks.c_str()), ::closedir);
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
      if (number(entry->d_name)) threads.emplace_back(entry->d_name);
    }
  }
  std::vector<pid_t> found;
  bool seen = false;
  for (const std::string& thread : threads) {
    const std::string list = tasks + "/" + thread + "/children";
    const descriptor fd(::open(list.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) continue;  // This thread has ended, or none is to be seen.
    seen = true;
    const auto more = pids_in(fd.get());
    found.insert(found.end(), more.begin(), more.end());
  }
  if (!seen && !has_gone(parent.self.pid)) return std::nullopt;
  return found;
}

/// From parent to child, so that others on the machine cost nothing. None where the kernel has no
/// lists of children, or /proc hides something.
std::optional<std::vector<process_ref>> walked(pid_t root, const std::vector<process_ref>& spared) {
  const auto top = read_process(root);
  if (!top) return std::nullopt;
  std::vector<process_ref> found;
  std::vector<process_line> parents{*top};
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const process_line parent = parents[i];
    const auto pids = listed_children(parent);
    if (!pids) return std::nullopt;
    std::vector<process_line> children;
    for (const pid_t pid : *pids) {
      const auto line = read_process(pid);
      if (!line && !has_gone(pid)) return std::nullopt;
      if (line && !line->ended && line->parent == parent.self.pid && !is_in(spared, line->self)) {
        children.push_back(*line);
      }
    }
    if (children.empty()) continue;
    // Another process may have got the parent's number meanwhile, and these are its children.
    const auto still = read_process(parent.self.pid);
    if (!still || still->self != parent.self) continue;
    for (const process_line& line : children) found.push_back(line.self);
    parents.insert(parents.end(), children.begin(), children.end());
  }
  return found;
}

std::vector<process_ref> below(pid_t root, const std::vector<process_ref>& spared) {
  auto found = walked(root, spared);
  return found ? std::move(*found) : scanned(root, spared);
}

}  // namespace

descriptor open_own_children() {
  return descriptor(::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC));
}

void kill_children(const descriptor& list) {
  if (!list || ::lseek(list.get(), 0, SEEK_SET) != 0) return;
  // Nobody else gets the number of a child before we have waited for it.
  for (const pid_t child : pids_in(list.get())) ::kill(child, SIGKILL);
}

std::vector<process_ref> descendants_of(pid_t root) { return below(root, {}); }

bool proc_is_ours() {
  std::array<char, 32> name{};
  const ssize_t size = ::readlink("/proc/self", name.data(), name.size());
  if (size <= 0) return false;
  const auto shown = number({name.data(), static_cast<std::size_t>(size)});
  return shown == static_cast<std::uint64_t>(::getpid());
}

std::vector<process_ref> children_of(pid_t root) {
  std::vector<process_ref> found;
  for (const process_line& line : all_processes()) {
    if (line.parent == root) found.push_back(line.self);
  }
  return found;
}

std::vector<process_ref> own_children() {
  const auto self = read_process(::getpid());
  const auto pids = self ? listed_children(*self) : std::nullopt;
  if (!pids) return children_of(::getpid());
  std::vector<process_ref> found;
  for (const pid_t pid : *pids) {
    if (const auto line = read_process(pid)) found.push_back(line->self);
  }
  return found;
}

void send_signal(const process_ref& to, int signal) noexcept {
  // The descriptor names the process; reading its start time afterwards proves which one that is.
  const descriptor fd(static_cast<int>(::syscall(SYS_pidfd_open, to.pid, 0)));
  if (!fd && errno != ENOSYS) return;
  const auto line = read_process(to.pid);
  const bool is_it = line ? line->self == to : to.started == start_hidden && is_our_child(fd);
  if (!is_it) return;
  if (fd) {
    ::syscall(SYS_pidfd_send_signal, fd.get(), signal, nullptr, 0);
  } else {
    ::kill(to.pid, signal);
  }
}

void signal_descendants(std::initializer_list<int> signals) {
  // A child that ends while a list is read can hide the one behind it. Both looks come before the
  // first signal: what a process starts on that gets no other.
  std::vector<process_ref> all = below(::getpid(), {});
  const std::set<process_ref> seen(all.begin(), all.end());
  for (const process_ref& one : below(::getpid(), {})) {
    if (!seen.contains(one)) all.push_back(one);
  }
  for (const int signal : signals) {
    for (const process_ref& one : all) send_signal(one, signal);
  }
}

bool kill_descendants(std::set<process_ref>& known, const std::vector<process_ref>& spared) {
  constexpr int rounds_max = 64;  // A tree that outruns this is caught by the caller's next call.
  std::set<process_ref> killed;
  for (int round = 0; round < rounds_max; ++round) {
    bool grew = false;
    for (const process_ref& one : below(::getpid(), spared)) {
      if (!killed.insert(one).second) continue;
      send_signal(one, SIGKILL);
      grew = true;
    }
    if (!grew) break;
  }
  const std::size_t before = known.size();
  known.merge(killed);
  return known.size() != before;
}

}  // namespace holdfast::cli
