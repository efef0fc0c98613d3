#include "cli/wrapper.hpp"

#include "cli/but_for_durations.hpp"
#include "cli/end_command_on_exit.hpp"
#include "cli/exit_on_signal.hpp"
#include "cli/run_events.hpp"

#include <holdfast/fence.hpp>

#include <fmt/core.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace holdfast::cli {

using namespace std::chrono_literals;

namespace {

/// What a message about a store says behind its URL.
std::string reason_in(const std::string& message, const std::string& url) {
  const std::string before = "in " + url + ": ";
  const auto at = message.find(before);
  return but_for_durations(at == std::string::npos ? message : message.substr(at + before.size()));
}

/// Why a file that is there could not be run.
std::string why_not_run(int code) {
  if (code == ENOENT) {
    return "what it needs to run is not there: the interpreter of its first line (#!), or its "
           "loader";
  }
  const std::string text = std::strerror(code);
  if (code != E2BIG) return text;
  return text + "; run adds some variables to the environment, so leave out arguments";
}

}  // namespace

wrapper::wrapper(const run_options& options, const settings& s, const report& out)
    : options_(options), settings_(s), out_(out), printable_(lock_name(options.name).printable()) {}

wrapper::~wrapper() = default;

int wrapper::run() {
  if (!proc_is_ours()) {
    return out_.fail(exit_code::unavailable,
                     "run: /proc is not mounted or is another pid namespace's, so what the command "
                     "starts could not be ended; mount it (unshare --mount-proc)");
  }
  signals_ = start_state::take_over_signals();
  const sigset_t watched = watched_signals();
  signal_fd_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  terminal_ = terminal::open();
  // The ttl of the URL is known only to the open session; the guardian uses its grace after that
  // for what a command leaves behind, where any length is safe.
  const duration leftover = options_.grace.value_or(grace_default(options_.ttl.value_or(30s)));
  auto guardian = guardian_link::fork_guardian({.path = options_.path,
                                                .arguments = options_.command,
                                                .signals = signals_,
                                                .grace = leftover,
                                                .terminal_fd = terminal_.fd(),
                                                .wrapper_group = ::getpgrp()});
  if (!guardian) return out_.fail(guardian.error(), "run");
  guardian_.emplace(std::move(*guardian));
  return open_and_run();
}

int wrapper::open_and_run() {
  waiting_line line(printable_, harmless(without_password(options_.store)), out_);
  events_ = std::make_shared<run_events>(line);
  awake_.emplace(*events_, signal_fd_.get(), *guardian_);
  seeker_.emplace(options_, settings_, out_, *guardian_, events_, *awake_);
  auto opened = seeker_->open();
  if (!opened) {
    events_->detach();
    return opened.code();
  }
  auto& [st, s] = *opened;
  const run_end end = run_in(st, s, line);
  const std::string url = s.url();
  const auto closed = s.close();
  events_->detach();
  return say(end, url, closed);
}

/// Last of all. What keeps a lock from being released mostly keeps its session from being closed.
int wrapper::say(const run_end& end, const std::string& url, const result<void>& closed) const {
  if (!end.failure.empty()) return out_.fail(end.code, end.failure, end.text);
  if (!end.text.empty()) out_.warn(end.text);
  if (closed || end.code != 0) return end.code;
  const std::string why = closed.error().message();
  if (!unreleased_.empty() && reason_in(why, url) == reason_in(unreleased_, url)) {
    out_.warn("the session was not closed in the store either, for the same reason");
  } else {
    out_.warn("the session was not closed in the store: " + why);
  }
  return end.code;
}

run_end wrapper::run_in(store& st, session& s, waiting_line& line) {
  ttl_ = s.ttl();
  grace_ = options_.grace.value_or(grace_default(ttl_));
  if (const auto f = fault_of_grace(settings_, grace_, ttl_)) {
    return {f->code, f->name, f->text};
  }
  const std::stop_callback on_loss(s.lost(), [events = events_] { events->wake(); });
  auto got = seeker_->wait(st, s, line);
  if (auto* ended = std::get_if<run_end>(&got)) return std::move(*ended);
  return run_under(s, std::get<lock>(std::move(got)));
}

bool wrapper::publish(const lock& held) {
  // The clock first: if we are stopped between the two, the deadline comes out too early.
  const time_point now = clock::now();
  const duration left = held.remaining();
  if (left <= duration::zero()) return false;
  guardian_->raise(deadlines_of(now + left, ttl_, grace_));
  return true;
}

bool wrapper::lease_fits(const lock& held) {
  // A grant late in a lease (after a stall) must not start a command only to stop it.
  while (publish(held)) {
    const time_point term = guardian_->kill_at() - grace_;
    if (term > clock::now()) return true;
    // Signals are left for the command: one that is there would wake us again and again.
    awake_->wait(std::max(ttl_ / 50, duration(1ms)), wake_ups::from::events);
  }
  return false;
}

std::vector<std::string> wrapper::environment(const session& s, const lock& held) const {
  // Set also when the store gives none: that of a run around this one must not be taken for it.
  const std::string token = held.token().value == 0 ? "" : std::to_string(held.token().value);
  const auto fencing = held.fencing_token();
  std::vector<std::string> variables{"HOLDFAST_LOCK=" + options_.name, "HOLDFAST_TOKEN=" + token,
                                     "HOLDFAST_FENCING_TOKEN=" + (fencing ? fencing->str() : ""),
                                     "HOLDFAST_SESSION=" + s.id().str(),
                                     "HOLDFAST_OUTER=" + events_->own_runs()};
  // A password stays where its user keeps it, or no holdfast below could log in: in this variable,
  // or in a file, which those below read too where the variable does not win over it. One from
  // elsewhere does not get into the variable.
  const origin from = settings_[key::store].from;
  const bool secret = has_password(options_.store);
  if (secret && from == origin::file) return variables;
  const bool kept = secret && from == origin::environment;
  variables.push_back("HOLDFAST_STORE=" + (kept ? options_.store : s.url()));
  return variables;
}

/// The fence knows the holder before the command writes: older ones are refused from then on, and
/// whoever raises the floor for this holder can see that it is the right fence.
result<void> wrapper::admit_at_fence(const lock& held) const {
  if (!options_.is_fenced()) return {};
  const auto token = held.fencing_token();
  if (!token) return token.error();
  auto f = fence::open(options_.fenced, options_.name);
  if (!f) return f.error();
  auto entered = f->enter(*token, held.mode(), {.wait = std::min(ttl_, duration(5s))});
  return entered ? result<void>() : entered.error();
}

/// Of a lock that has a token: what the command sends with its writes is missing all the same.
void wrapper::warn_of_no_fencing_token(const lock& held) const {
  if (held.token().value == 0) return;
  const auto fencing = held.fencing_token();
  // Where nobody reads it, the lock would be held and nothing run.
  if (fencing || !takes_a_line()) return;
  out_.warn("warning: HOLDFAST_FENCING_TOKEN is empty: " + fencing.error().message());
}

/// The lock is given back when this returns; until then nothing is said that nobody reads, but for
/// a reader that stops in the moment between the question and the line.
run_end wrapper::run_under(session& s, lock held) {
  if (!lease_fits(held)) return seeker_->not_granted(s, error(errc::lost, "the lease has passed"));
  if (auto admitted = admit_at_fence(held); !admitted) {
    return seeker_->not_granted(s, admitted.error());
  }
  out_.note(fmt::format("lock \"{}\" in {}: granted, token {}", printable_, s.url(),
                        token_text(held.token())));
  warn_of_no_fencing_token(held);
  // The fence and what was said may have taken long.
  if (!lease_fits(held)) return seeker_->not_granted(s, error(errc::lost, "the lease has passed"));
  const std::string id = s.id().str();
  lease_page& page = guardian_->page();
  std::memcpy(page.session, id.c_str(), std::min(id.size() + 1, sizeof page.session));
  page.now.store(lease_page::stage::held, std::memory_order_release);
  end_command_on_exit ends_first(*guardian_, grace_, [&held] { return held.check().has_value(); });
  if (!guardian_->start(environment(s, held), s.life_descriptor(), terminal_.should_give())) {
    return not_begun();
  }
  auto ended = supervise(held);
  if (ended) {
    ends_first.done();
    return finish(s, std::move(held), *ended);
  }
  bool all_gone = guardian_->kill_everything(5s);
  // What will not die may still write: the lock is kept for as long as heartbeats keep it.
  while (!all_gone && held.check()) all_gone = guardian_->kill_everything(1s);
  ends_first.done();
  return unended(s, all_gone);
}

std::optional<message> wrapper::supervise(const lock& held) {
  const duration step = std::clamp(ttl_ / 8, duration(10ms), duration(1s));
  bool ending{};
  while (!ended_) {
    if (!publish(held) && !ending) {
      ending = true;
      guardian_->end_now();
    }
    // A guardian that hangs is no guardian: half of the safety distance is left for us.
    const time_point overdue_at = guardian_->kill_at() + kill_distance(ttl_) / 2;
    awake_->wait(std::clamp(overdue_at - clock::now(), duration(1ms), step));
    forward_signals();
    while (!ended_) {
      received r = guardian_->receive();
      if (r.got) on_message(std::move(*r.got));
      if (r.closed) return std::nullopt;
      if (!r.got) break;
    }
    overdue_ = !ended_ && clock::now() > overdue_at && guardian_->page().kill_at != 0;
    if (overdue_) return std::nullopt;
    guardian_->look_at_others();
    if (!ended_) guardian_->is_gone();
  }
  terminal_.take_back_from(command_);
  return std::move(ended_);
}

void wrapper::on_message(message m) {
  switch (m.what) {
    case message::kind::started:
      command_ = m.number;
      break;
    case message::kind::start_failed:
      start_errno_ = m.number;
      break;
    case message::kind::stopped:
      on_stopped(m.number);
      break;
    case message::kind::ended:
      ended_ = std::move(m);
      break;
    default:
      break;
  }
}

void wrapper::on_stopped(int signal) {
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (wants_terminal && terminal_.ours()) {
    guardian_->proceed(true);
    return;
  }
  if (!wants_terminal && signal != SIGTSTP) return;
  terminal_.take_back_from(command_);
  stop_own_group();
  guardian_->proceed(terminal_.ours());
}

void wrapper::forward_signals() {
  while (const auto n = awake_->next_signal()) {
    if (*n != SIGCHLD) guardian_->forward(*n);
  }
}

/// The guardian has not begun with the command.
run_end wrapper::not_begun() {
  const char* how = overdue_                      ? "did not start the command in time"
                    : guardian_->receive().closed ? "was killed before the command started"
                                                  : "did not take the command";
  return run_end::failed(
      errc::unavailable,
      fmt::format("lock \"{}\": the guardian {}; nothing was run", printable_, how));
}

/// The guardian is gone, and has not said how the command ended.
run_end wrapper::unended(session& s, bool all_gone) {
  if (start_errno_ == ETIME) {
    return seeker_->not_granted(s, error(errc::lost, "the lease has passed"));
  }
  if (start_errno_ != 0) {
    return run_end::failed(errc::unavailable,
                           fmt::format("{}: cannot be started: {}; nothing was run", options_.path,
                                       std::strerror(start_errno_)));
  }
  // Read when it is gone: before, it might still begin.
  if (all_gone && !guardian_->page().begun.load(std::memory_order_acquire)) return not_begun();
  terminal_.take_back_from(command_);
  terminal_.restore_modes();
  std::string how = overdue_ ? "did not end the command when the lease was over" : "was killed";
  how += all_gone ? "; the command was ended with it" : ", and something of it will not die";
  return run_end::failed(errc::lost,
                         fmt::format("lock \"{}\": its guardian {} (it was pid {}); whether "
                                     "the command had finished is not known",
                                     printable_, how, guardian_->pid()));
}

/// The command is stopped some time before the lease ends, and may be gone while nobody has said
/// yet that it is lost.
std::string wrapper::why_lost(const session& s) const {
  for (const std::string& reason : {s.status().reason, events_->why_lost()}) {
    if (!reason.empty()) return reason;
  }
  const bool limited = is_redlock(s.url()) && s.url().find("extensions=") != std::string::npos;
  return std::string("it was not renewed in time") +
         (limited ? "; the store's URL limits how often that is done (extensions=)" : "");
}

run_end wrapper::finish(session& s, lock held, const message& ended) {
  const int status = ended.number;
  if (start_errno_ != 0) {
    // It was there before the wait.
    const bool missing = start_errno_ == ENOENT && ::access(options_.path.c_str(), F_OK) != 0;
    const exit_code code = missing ? exit_code::not_found : exit_code::not_executable;
    return {to_int(code), name_of_exit(code),
            harmless(options_.path) + ": " +
                (missing ? std::strerror(ENOENT) : why_not_run(start_errno_))};
  }
  if (WIFSIGNALED(status) || ended.flag) terminal_.restore_modes();
  guardian_->page().now.store(lease_page::stage::over, std::memory_order_release);
  const auto released = std::move(held).release();
  if (ended.flag || (!released && exit_for(released.error().code()) == exit_code::lost)) {
    const std::string why = why_lost(s);
    const char* what = ended.flag ? "the command was stopped for that"
                                  : "the command had ended by itself, perhaps after that";
    return run_end::failed(errc::lost, fmt::format("lock \"{}\" in {}: the lease was lost ({}); {}",
                                                   printable_, s.url(), why, what));
  }
  run_end end{WIFSIGNALED(status) ? exit_of_signal(WTERMSIG(status)) : WEXITSTATUS(status)};
  if (!released) {
    unreleased_ = released.error().message();
    // Not when others get it: a server that lost its state may grant nothing for longer.
    end.text = fmt::format(
        "lock \"{}\": not released in the store, where it ends with its ttl "
        "({}), for which others may have to wait: {}",
        printable_, rounded_up(ttl_), unreleased_);
  }
  return end;
}

}  // namespace holdfast::cli
