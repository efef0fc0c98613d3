#include "cli/lock_seeker.hpp"

#include "cli/but_for_durations.hpp"
#include "cli/exit_on_signal.hpp"
#include "cli/guardian_link.hpp"
#include "cli/run_events.hpp"
#include "cli/start_state.hpp"
#include "cli/terminal.hpp"
#include "cli/waiting_line.hpp"
#include "cli/wake_ups.hpp"

#include <holdfast/fence.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::cli {

using namespace std::chrono_literals;

namespace {

/// Between two attempts to open the store: shorter when little is left of the wait.
constexpr duration open_pause_most = 1s;
constexpr duration open_pause_least = 100ms;

/// Between two looks through a store that does not say who is in the way: each is work for it.
constexpr duration look_pause = 30s;

/// As a session takes it: a file may be called by any bytes.
std::string name_of_command(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  std::ranges::replace_if(name, is_control, '?');
  return name;
}

}  // namespace

lock_seeker::lock_seeker(const run_options& options, const settings& s, const report& out,
                         guardian_link& guardian, std::shared_ptr<run_events> events,
                         wake_ups& awake)
    : options_(options),
      settings_(s),
      out_(out),
      guardian_(guardian),
      events_(std::move(events)),
      awake_(awake),
      printable_(lock_name(options.name).printable()) {}

/// A wait that was asked for is also for a store that does not answer yet, which is said once. The
/// last attempt begins when the wait is over.
or_exit<opening> lock_seeker::open() {
  const time_point began = clock::now();
  const auto left = [&] {
    if (options_.wait == forever) return forever;
    return std::max(options_.wait - (clock::now() - began), duration::zero());
  };
  wait_left_ = options_.wait;
  for (std::string said;;) {
    auto opened = open_once();
    if (auto* good = std::get_if<opening>(&opened)) {
      // A wait that is used up is still one, and no try.
      if (options_.wait > 0s) wait_left_ = std::max(left(), duration{1});
      return std::move(*good);
    }
    if (const auto code = told_end_of_wait()) return *code;
    const not_opened& failed = std::get<not_opened>(opened);
    wait_left_ = left();
    if (!failed.passes || !may_open_again()) {
      const bool may_wait = failed.passes && !failed.needs_operator && options_.wait == forever &&
                            !settings_[key::wait].given() && scheme_of(options_.store) != "local";
      const std::string more = may_wait ? "; --wait DURATION goes on trying" : "";
      const std::string text = said.empty() ? failed.why.text + more
                                            : told_again(failed.why.text, said) + "; tried for " +
                                                  rounded(clock::now() - began);
      return out_.fail(failed.why.code, failed.why.name, text);
    }
    if (said.empty()) {
      const std::string most = options_.wait == forever ? "" : " for " + rounded(options_.wait);
      said = failed.why.text;
      out_.warn(said + "; trying again" + most);
    }
    awake_.wait(
        std::min(wait_left_, std::clamp(wait_left_ / 4, open_pause_least, open_pause_most)));
    if (const auto code = told_end_of_wait()) return *code;
    wait_left_ = left();
  }
}

/// People have read it where it was said first; a program reads the error.
std::string lock_seeker::told_again(const std::string& text, const std::string& said) const {
  if (out_.json() || but_for_durations(text) != but_for_durations(said)) return text;
  return "store " + harmless(without_password(options_.store)) + ": still cannot be used";
}

/// Without a wait that was asked for, a mistyped server would be waited for in silence, for ever.
bool lock_seeker::may_open_again() const { return settings_[key::wait].given() && wait_left_ > 0s; }

std::variant<opening, lock_seeker::not_opened> lock_seeker::open_once() {
  const auto failed = [this](const error& e, std::initializer_list<key> causes) {
    // Under a session of which it is not known that it was opened, nothing is held.
    const bool passes = e == errc::unavailable || e == errc::outcome_unknown;
    return not_opened{fault_in_opening(settings_, e, causes), passes, e.needs_operator()};
  };
  const exit_on_signal while_opening;
  auto st = store::open(options_.store);
  if (!st) return failed(st.error(), {key::store});
  if (auto lacking = fault_of_needs(*st)) return not_opened{std::move(*lacking)};
  auto s = st->open_session({.ttl = options_.ttl,
                             .program = name_of_command(options_.command.front()),
                             .instance = options_.instance,
                             .label = options_.label,
                             .observer = events_});
  if (!s) return failed(s.error(), {key::ttl});
  return opening{std::move(*st), std::move(*s)};
}

/// What would make the command impossible once the lock was waited for, perhaps for hours: tokens
/// that are not there, and then a fence that cannot be used, which is made where it is missing.
std::optional<fault> lock_seeker::fault_of_needs(const store& st) const {
  const auto of = [](errc code, const std::string& text) {
    return fault{to_int(exit_for(code)), name_of(code), harmless(text)};
  };
  if (options_.elects && !st.gives_tokens()) {
    return of(errc::unsupported,
              fmt::format("elect {} in {}: without tokens the store keeps no value that a leader "
                          "publishes; leave tokens=off out of the URL",
                          printable_, st.url()));
  }
  if (options_.is_fenced() && !st.gives_tokens()) {
    return of(errc::unsupported,
              fmt::format("{} gives no tokens, so that no storage can refuse a stale holder of {}; "
                          "leave tokens=off out of the URL",
                          st.url(), printable_));
  }
  if (options_.fenced.empty()) return std::nullopt;
  const auto f = fence::open(options_.fenced, options_.name);
  if (f) return std::nullopt;
  return of(f.error().code(), "--fenced: " + f.error().message());
}

std::variant<lock, run_end> lock_seeker::wait(store& st, session& s, waiting_line& line) {
  std::stop_source cancel;
  s.acquire(lock_name(options_.name),
            {.mode = options_.how, .wait = wait_left_, .stop = cancel.get_token()},
            [events = events_](result<lock> r) { events->acquired(std::move(r)); });
  std::optional<run_end> ended;
  std::optional<result<lock>> answer;
  while (!(answer = events_->take_acquired())) {
    if (ended) {
      // What is left is the answer to the cancellation. Nobody reads the signals any more: those
      // that came behind the one that ended the wait would wake us again and again.
      awake_.wait(1s, wake_ups::from::events);
      continue;
    }
    line.draw();
    awake_.wait(1s);
    ended = end_of_wait(&st);
    if (ended) cancel.request_stop();
  }
  line.erase();  // What is said then would stand behind it.
  // A signal that came with the grant is left in the descriptor and goes to the command.
  if (ended) return *ended;
  if (!*answer) return not_granted(s, with_advice(answer->error()));
  return std::move(**answer);
}

/// `st`: none while the store is opened.
std::optional<run_end> lock_seeker::end_of_wait(store* st) {
  while (const auto n = awake_.next_signal()) {
    if (*n == SIGTSTP) stop_own_group();
    if (ends_wait(*n)) return run_end{exit_of_signal(*n)};
  }
  guardian_.look_at_others();
  if (st != nullptr && waits_for_itself(*st)) {
    return refused(
        error(errc::busy, "acquire " + printable_ +
                              ": it is held by a run that this command stands in, which would "
                              "wait for itself"));
  }
  if (!guardian_.is_gone()) return std::nullopt;
  return run_end::failed(errc::unavailable,
                         fmt::format("lock \"{}\": the guardian was killed before the command "
                                     "started; nothing was run",
                                     printable_));
}

/// While the store is opened, when nothing can be held yet.
std::optional<int> lock_seeker::told_end_of_wait() {
  const auto ended = end_of_wait(nullptr);
  if (!ended) return std::nullopt;
  return ended->failure.empty() ? ended->code : out_.fail(ended->code, ended->failure, ended->text);
}

/// Whether no more than a `run` that waits for our end could make room for us.
bool lock_seeker::waits_for_itself(store& st) {
  if (events_->may_wait_for_own_run()) {
    if (clock::now() < look_again_) return false;
    look_again_ = clock::now() + look_pause;
    return only_own_runs_hold(st).value_or(false);
  }
  if (!events_->waits_for_own_run()) return false;
  if (!options_.how.is_permits() || options_.how.limit() == 1) return true;
  // Of several permits somebody else may have one, and give it back.
  const auto notified = events_->times_notified();
  if (notified == looked_after_) return false;
  const auto own = only_own_runs_hold(st);
  if (own) looked_after_ = notified;
  return own.value_or(false);
}

/// Empty when the store cannot be looked through.
std::optional<bool> lock_seeker::only_own_runs_hold(store& st) {
  const auto all = st.list();
  if (!all) return std::nullopt;
  const auto there = std::ranges::find(all->locks, lock_name(options_.name), &lock_info::name);
  return there != all->locks.end() &&
         std::ranges::all_of(there->entries, [this](const entry_info& e) {
           return !e.granted || events_->is_own_run(e.session);
         });
}

/// Where Redlock nodes do not tell whose session has it, a look at all they keep may tell more.
error lock_seeker::with_advice(const error& e) const {
  // Behind the name, which may have such words in it.
  const auto name_at = e.message().find(printable_);
  const auto from = name_at == std::string::npos ? 0 : name_at + printable_.size();
  const bool is_told = e.message().find(" (pid ", from) != std::string::npos;
  const bool taken = exit_for(e.code()) == exit_code::not_obtained && !is_told;
  // A name that cannot be shown as it is cannot be typed either.
  if (!taken || !is_redlock(options_.store) || printable_ != options_.name) return e;
  std::vector<std::string> look{"holdfast", "show", options_.name};
  if (settings_[key::store].from == origin::option) {
    look.insert(look.end(), {"--store", without_password(options_.store)});
  }
  return error(e.code(), e.message() + "; who has it: " + shell_line(look));
}

/// Nothing was run yet, so a lease that was lost is no more than a store that cannot be used.
run_end lock_seeker::not_granted(session& s, const error& e) const {
  if (e != errc::lost) return refused(e);
  const std::string reason = s.status().reason;
  return refused(
      error(errc::unavailable, fmt::format("lock \"{}\": not obtained, and nothing was run: {}",
                                           printable_, reason.empty() ? e.message() : reason)));
}

run_end lock_seeker::refused(const error& e) const {
  const exit_code code = exit_for(e.code());
  const int number = code == exit_code::not_obtained ? options_.conflict_exit : to_int(code);
  return {number, name_of(e.code()), harmless(e.message())};
}

}  // namespace holdfast::cli
