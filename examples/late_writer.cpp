// A program that adds a line to a ledger under a lock, with or without a fence, and that can be
// told to stop between its last check and its write, as a machine does that stands still.
//
//   example_late_writer STORE LEDGER file:FLOORS|- NAME [stop]
//
// Exit code 0: the line is in the ledger. 77: a newer holder has written, and the ledger is as it
// left it. 1: anything else. `script/demo` runs two of them against each other.
#include <holdfast/fence.hpp>
#include <holdfast/session.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

using namespace std::chrono_literals;

namespace {

int fail(const holdfast::error& why) {
  std::fprintf(stderr, "%s\n", why.message().c_str());
  return why == holdfast::errc::stale_token ? 77 : 1;
}

/// The ledger with one line more, under another name; nothing when it cannot be read or written.
std::optional<std::string> draft_of(const std::string& ledger, const std::string& name) {
  const std::string draft = ledger + "." + name;
  std::error_code unseen;
  const bool is_new = !std::filesystem::exists(ledger, unseen) && !unseen;
  std::ifstream before(ledger);
  // Taken for empty, it would be replaced by one line.
  if (!is_new && !before) return std::nullopt;
  std::ofstream after(draft, std::ios::trunc);
  // An empty stream buffer counts as a failure of <<.
  if (before && before.peek() != std::ifstream::traits_type::eof()) after << before.rdbuf();
  after << name << '\n' << std::flush;
  return after && !before.bad() ? std::optional(draft) : std::nullopt;
}

/// The one step that makes the new line visible; an exit code.
int publish(const std::string& draft, const std::string& ledger) {
  std::error_code failed;
  std::filesystem::rename(draft, ledger, failed);
  if (!failed) return 0;
  return fail({holdfast::errc::unavailable, ledger + ": " + failed.message()});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s STORE LEDGER file:FLOORS|- NAME [stop]\n", argv[0]);
    return 64;
  }
  const std::string ledger = argv[2], floors = argv[3], name = argv[4];
  const bool stops = argc > 5;

  auto session = holdfast::open(argv[1]);
  if (!session) return fail(session.error());
  auto lock = session->acquire(holdfast::lock_name("ledger"), {.wait = 60s});
  if (!lock) return fail(lock.error());

  std::optional<holdfast::fence> fence;
  std::optional<holdfast::fencing_token> token;
  if (floors != "-") {
    auto opened = holdfast::fence::open(floors, "ledger");
    if (!opened) return fail(opened.error());
    fence = *std::move(opened);
    auto ours = lock->fencing_token();
    if (!ours) return fail(ours.error());
    token = *std::move(ours);
    // From here on older holders are refused, so nothing is added behind the reading below.
    if (auto seen = fence->enter(*token); !seen) return fail(seen.error());
  }

  const auto draft = draft_of(ledger, name);
  if (!draft) return fail({holdfast::errc::unavailable, "cannot copy " + ledger});

  // The lock is still held, and yet what follows may come too late.
  if (auto good = lock->check(); !good) return fail(good.error());
  if (stops) std::raise(SIGSTOP);

  if (fence) {
    // The pass covers the whole write: a newer holder waits until it has ended.
    const auto pass = fence->enter(*token);
    if (!pass) return fail(pass.error());
    return publish(*draft, ledger);
  }
  return publish(*draft, ledger);
}
