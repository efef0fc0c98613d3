#pragma once

#include "cli/descriptor.hpp"

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <set>
#include <vector>

namespace holdfast::cli {

/// One process, by a name that is never used twice in a boot.
struct process_ref {
  pid_t pid{};
  /// Clock ticks since boot, field 22 of /proc/PID/stat; zero for a child of ours that /proc hides.
  std::uint64_t started{};

  friend auto operator<=>(const process_ref&, const process_ref&) = default;
};

/// Every live process below `root`, whatever its process group or session: found by the lists
/// /proc/PID/task/TID/children, an optional part of the kernel, without a look at anybody else's
/// processes; where they are missing, or something is hidden, by every parent pid in /proc. The
/// tree is complete when `root` is a child subreaper: an orphan is then its child. Zombies are left
/// out; a process whose first thread has ended before others is shown as one and is none. What
/// /proc hides (hidepid, and a process that may not be traced) is found once it is a child of ours.
std::vector<process_ref> descendants_of(pid_t root);

/// Whether /proc shows this process under its own number: one of another pid namespace (`unshare
/// --pid` without --mount-proc) would name other processes than the ones below us.
bool proc_is_ours();

/// The children of `root` alone.
std::vector<process_ref> children_of(pid_t root);

/// Ours, with those that have ended where the kernel lists children.
std::vector<process_ref> own_children();

/// Sends `signal` if the pid still belongs to that process.
void send_signal(const process_ref& to, int signal) noexcept;

/// The kernel's list of the calling thread's children, which can be read again and again.
descriptor open_own_children();

/// Kills each child in that list, which the thread itself opened: without another descriptor, where
/// none is to be had. Only for a process of one thread that alone waits for its children.
void kill_children(const descriptor& list);

/// Sends every process below this one the first signal, then every one the next.
void signal_descendants(std::initializer_list<int> signals);

/// Kills every process below this one, parents before their children, again until no new one
/// appears: what a process forked before it died is found in the next round, as ours by then.
/// Stopping all of them first would gain nothing against a tree that forks, and would leave them
/// stopped for ever if we were killed in between. `spared` ones, and what is below them, are left
/// alone. Returns without waiting: the caller reaps, and calls again until there is nothing left.
/// Whether there were any that are not in `known`, where they are added: who may not be killed now
/// is tried again by each call.
bool kill_descendants(std::set<process_ref>& known, const std::vector<process_ref>& spared = {});

}  // namespace holdfast::cli
