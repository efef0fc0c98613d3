// A fenced log beside bare system calls of the same bytes, on the file system of $TMPDIR or /tmp.
#include "bench/figures.hpp"
#include "bench/measure.hpp"

#include <holdfast/fenced_log.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::bench {
namespace {

using goal = figure::goal;

/// A directory of its own, removed at the end.
class place {
 public:
  place() : path_(std::filesystem::temp_directory_path().string() + "/fenced-log-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp " + path_);
  }
  place(const place&) = delete;
  place& operator=(const place&) = delete;
  ~place() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string at(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

fencing_token with(std::uint64_t value) {
  return {{store_identity("bench"), lock_name("log")}, {value}};
}

template <class T>
T must(result<T> r) {
  if (!r) throw std::runtime_error(r.error().message());
  return std::move(*r);
}

class bare_file {
 public:
  explicit bare_file(const std::string& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw std::runtime_error("open " + path);
  }
  bare_file(const bare_file&) = delete;
  bare_file& operator=(const bare_file&) = delete;
  ~bare_file() { ::close(fd_); }
  void append(const std::vector<std::byte>& record, bool sync) {
    if (::pwrite(fd_, record.data(), record.size(), at_) != static_cast<ssize_t>(record.size())) {
      throw std::runtime_error("pwrite");
    }
    at_ += static_cast<off_t>(record.size());
    if (sync && ::fdatasync(fd_) != 0) throw std::runtime_error("fdatasync");
  }

 private:
  int fd_;
  off_t at_{};
};

/// Both sides take turns in batches that are short enough for the machine and its disk to be as
/// busy for both.
void compare(figure& n, const effort& e, std::size_t size, bool sync) {
  const std::vector<std::byte> record(size, std::byte{'x'});
  const std::size_t batch = sync ? 10 : (std::size_t{1} << 20) / size;
  const int turns = sync ? 8 : 16;
  const auto timed = [&](double& sum, const auto& append) {
    const double begin = now_us();
    for (std::size_t i = 0; i < batch; ++i) append();
    sum += now_us() - begin;
  };
  for (int round = 0; round < e.rounds; ++round) {
    double ours = 0, bare = 0;
    double count = 0;
    while (ours + bare < 2e6 * e.seconds) {
      const place where;
      auto log = must(fenced_log::open(where.at("log"), with(1), {.segment_bytes = 1 << 30}));
      bare_file file(where.at("bare"));
      for (int turn = 0; turn < turns; ++turn, count += static_cast<double>(batch)) {
        timed(bare, [&] { file.append(record, sync); });
        timed(ours, [&] {
          (void)must(log.append(record, sync ? survives::power_loss : survives::kill));
        });
      }
    }
    n.ours.push_back(count / ours * 1e3);
    n.bare.push_back(count / bare * 1e3);
  }
}

figures measure_append(const effort& e) {
  figures all;
  for (const std::size_t size : {100, 1000, 4096}) {
    all.push_back({"append of " + std::to_string(size) + " bytes; bare: pwrite",
                   "k/s",
                   {},
                   {},
                   goal::ratio_at_least,
                   0.85});
    compare(all.back(), e, size, false);
  }
  return all;
}

figures measure_sync(const effort& e) {
  figures all;
  for (const std::size_t size : {100, 4096}) {
    all.push_back({"append of " + std::to_string(size) + ", synced; bare: pwrite + fdatasync",
                   "k/s",
                   {},
                   {},
                   goal::ratio_at_least,
                   0.9});
    compare(all.back(), e, size, true);
  }
  return all;
}

double synced_appends(fenced_log& log, int threads, double seconds) {
  const std::vector<std::byte> record(100, std::byte{'x'});
  std::atomic<std::uint64_t> done{};
  const double begin = now_us();
  const double end = begin + seconds * 1e6;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      while (now_us() < end) {
        (void)must(log.append(record, survives::power_loss));
        ++done;
      }
    });
  }
  for (auto& t : all) t.join();
  return static_cast<double>(done) / (now_us() - begin) * 1e3;
}

figures measure_group(const effort& e) {
  figure n{"synced appends of 16 threads; bare: of one", "k/s", {}, {}, goal::ratio_at_least, 5};
  const place where;
  auto log = must(fenced_log::open(where.at("log"), with(1)));
  for (int round = 0; round < e.rounds; ++round) {
    n.bare.push_back(synced_appends(log, 1, e.seconds));
    n.ours.push_back(synced_appends(log, 16, e.seconds));
  }
  return {n};
}

/// A log of 16 segments of 64 MiB, the last of which was not sealed.
figures measure_takeover(const effort& e) {
  figure n{"seal and take over 1 GiB of segments", "ms", {}, {}, goal::ours_at_most, 5};
  const place where;
  std::uint64_t token = 1;
  auto log = must(fenced_log::open(where.at("log"), with(token)));
  const std::vector<std::byte> record(std::size_t{1} << 20, std::byte{'x'});
  for (int i = 0; i < 1020; ++i) (void)must(log.append(record));
  if (auto synced = log.sync(); !synced) throw std::runtime_error(synced.error().message());
  const std::vector<std::byte> little(100, std::byte{'y'});
  for (int round = 0; round < 10 * e.rounds; ++round) {
    (void)must(log.append(little));
    const double begin = now_us();
    auto next = must(fenced_log::open(where.at("log"), with(++token)));
    n.ours.push_back((now_us() - begin) / 1e3);
    log = std::move(next);
  }
  return {n};
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  return print_rows(argc, argv, [](const effort& e) -> std::vector<row> {
    return {{"append", [&e] { return measure_append(e); }},
            {"sync", [&e] { return measure_sync(e); }},
            {"group", [&e] { return measure_group(e); }},
            {"takeover", [&e] { return measure_takeover(e); }}};
  });
}
