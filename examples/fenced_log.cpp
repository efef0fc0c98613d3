// Append to a log under a lock, so that a holder that lost its lock cannot write any more.
//
//   example_fenced_log [STORE [DIRECTORY]]

// [log]
#include <holdfast/fenced_log.hpp>
#include <holdfast/log_reader.hpp>
#include <holdfast/session.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

int fail(const holdfast::error& why) {
  std::fprintf(stderr, "%s\n", why.message().c_str());
  return 1;
}

int write_and_read(const std::string& directory, const holdfast::fencing_token& token) {
  auto log = holdfast::fenced_log::open(directory, token);
  if (!log) return fail(log.error());

  for (const std::string_view text : {"begin", "work", "end"}) {
    auto number = log->append(std::as_bytes(std::span(text)), holdfast::survives::power_loss);
    // stale_token: somebody else has the lock by now, and this record is not in the log.
    if (!number) return fail(number.error());
  }

  auto reader = holdfast::log_reader::open(directory);
  if (!reader) return fail(reader.error());
  for (;;) {
    auto record = reader->next();
    if (!record) return fail(record.error());
    if (!*record) return 0;
    std::printf("%llu: %.*s\n", static_cast<unsigned long long>((*record)->number.value),
                static_cast<int>((*record)->bytes.size()),
                reinterpret_cast<const char*>((*record)->bytes.data()));
  }
}
// [/log]

int main(int argc, char** argv) {
  auto session = holdfast::open(argc > 1 ? argv[1] : "local:");
  if (!session) return fail(session.error());
  auto lock = session->acquire(holdfast::lock_name("journal"));
  if (!lock) return fail(lock.error());

  // With its lock and its store: the log refuses tokens that it cannot compare.
  const auto token = lock->fencing_token();
  if (!token) return fail(token.error());
  if (argc > 2) return write_and_read(argv[2], *token);

  char made[] = "/tmp/holdfast-journal-XXXXXX";
  if (::mkdtemp(made) == nullptr) return 1;
  const int code = write_and_read(made, *token);
  std::filesystem::remove_all(made);
  return code;
}
