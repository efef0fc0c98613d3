#pragma once

#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/mode.hpp>
#include <holdfast/token.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Histories: recorded calls on locks and on fenced storage, with their results; and the question
/// whether all of them can have happened one after the other (linearizability). The text form is
/// docs/history-format.md; `holdfast verify` is this header on the command line.
namespace holdfast::history {

/// What a caller did, or what was done to it.
enum class operation : std::uint8_t {
  open,     ///< A session was opened.
  acquire,  ///< A lock was asked for.
  check,    ///< It was asked whether the lock is still held.
  write,    ///< The protected storage was asked to take a value under a token.
  read,     ///< The protected storage was asked for its value.
  raise,    ///< The storage was asked to refuse every token below this one.
  release,  ///< The lock was given back.
  close,    ///< A session was closed.
  deny,     ///< A session was denied.
  kill,     ///< SIGKILL was sent to the caller; `stop` and `cont` likewise.
  stop,
  cont,
};

/// The word of the text form: "open", "acquire", ... Never empty.
HOLDFAST_EXPORT const char* name_of(operation what) noexcept;

/// One operation of one caller.
struct line {
  operation what{};
  std::string caller;       ///< Letters, digits and `.:-`; never two operations at the same time.
  std::string lock;         ///< The lock's name; empty for an operation on no single lock.
  holdfast::token token{};  ///< Zero: none.
  std::int64_t invoked{};   ///< When the call began, in nanoseconds of one clock.
  std::int64_t returned{};  ///< When it returned; zero if it never did.
  std::string outcome;      ///< "ok", the name of an errc, or "pending".
  /// Of an acquire: the mode that was asked for. Of a read with a token: shared when the storage
  /// compares it as a reader's, which is with exclusive tokens only.
  holdfast::mode mode = holdfast::mode::exclusive();
  std::optional<std::string> value;  ///< Of a write: what was written; of a read: what was read.
  std::size_t at{};                  ///< Its line in the text, from 1; zero if it has none.
};

/// The first line of the text form.
inline constexpr std::string_view header = "holdfast-history 1\n";

/// The line as text, with its newline. `at` is not part of it.
HOLDFAST_EXPORT std::string print(const line& l);

/// Reads a whole text. Errors: `damaged` for an empty text, an unknown version, a line that was
/// cut, and every line that is not of the form; the message names the line and what is wrong with
/// it.
HOLDFAST_EXPORT result<std::vector<line>> parse(std::string_view text);

/// The rules that the operations on one name must satisfy, taken one after the other in some
/// order.
///
/// | model           | operations              | rules                                            |
/// |-----------------|-------------------------|--------------------------------------------------|
/// | mutex           | acquire, check, release | nobody beside an exclusive holder                |
/// | fenced_mutex    | the same, with tokens   | also: tokens grow, as in holdfast/token.hpp      |
/// | semaphore       | the same, permits(n)    | at most n holders; no token twice                |
/// | fenced_register | write, read, raise      | what arrives raises the floor; only what is      |
/// |                 |                         | below it is refused; nothing takes effect after  |
/// |                 |                         | something newer has; a read sees the last write  |
///
/// Locks here are leases. A holder may fall silent at any moment. So a grant counts as held from
/// some moment of its `acquire` to some moment of the last operation that was answered that it is
/// held (`check`, `release`, and a `write` on storage without a fence), and no longer.
///
/// At a fenced register a token arrives first and takes effect later, as in holdfast/fence.hpp.
/// An operation that ended neither with `ok` nor with `stale_token` may have arrived, and so have
/// raised the floor, except with `denied`, `unsupported`, `invalid_argument`,
/// `not_initialised`, `expiring`, `mode_conflict` and `would_block`.
enum class model : std::uint8_t { mutex, fenced_mutex, semaphore, fenced_register };

/// The name for people: "mutex", "fenced mutex", "semaphore", "fenced register".
HOLDFAST_EXPORT const char* name_of(model m) noexcept;

/// The result for the operations on one name.
enum class verdict : std::uint8_t {
  linearizable,  ///< One order that the model allows was found.
  violation,     ///< Every order was tried: there is none.
  undecided,     ///< The memory ran out before either was certain, or judge_options::as is a fenced
                 ///< mutex and a grant has no token. Nothing is guessed.
};

/// What was found about the operations on one name.
struct judgement {
  std::string lock;          ///< Its name.
  model as{};                ///< The rules it was judged by.
  verdict found{};           ///< The result.
  std::size_t operations{};  ///< How many lines took part.
  /// After a violation: lines that cannot be ordered, and can if any one of them is left out, as
  /// indices into the lines given, by time of call. If finding such a set takes too long, it has
  /// more lines than necessary, and still cannot be ordered.
  std::vector<std::size_t> conflict;
  std::string why;  ///< One sentence for people; empty when linearizable.
};

/// How to judge.
struct judge_options {
  /// The only model to judge by. Nothing: by what the lines hold. A name is a semaphore when it
  /// was acquired with permits, a fenced mutex when every grant has a token, else a mutex. Its
  /// storage is a fenced register when a value, a read, a raise or a `stale_token` is recorded.
  std::optional<model> as;
  /// The limit in bytes for the states visited for one name. Zero: 256 MiB.
  std::size_t memory_max{};
};

/// Judges every name by itself, since operations on different names never constrain one another.
/// The result has one entry for each name and model, in the order of the names. A line that never
/// returned, or whose outcome leaves it open, may have happened or not.
///
/// Time and memory grow in proportion to the lines as long as callers do not overlap in many
/// ways. Deciding is NP-complete in general (P. Gibbons, E. Korach, Testing shared memories,
/// 1997); `memory_max` is where it stops.
///
/// The method: J. Wing, C. Gong, Testing and verifying concurrent objects, 1993, with the memory
/// of G. Lowe, Testing for linearizability, 2017, and the partition of A. Horn, D. Kroening,
/// Faster linearizability checking via P-compositionality, 2015.
///
/// It does **not** find what the lines do not show: a failed acquire (`busy`, `timed_out`) proves
/// nothing, and a lock that nobody got although it was free is no violation.
///
/// Thread safety: a pure function, from any thread.
HOLDFAST_EXPORT std::vector<judgement> judge(const std::vector<line>& lines,
                                             const judge_options& options = {});

}  // namespace holdfast::history
