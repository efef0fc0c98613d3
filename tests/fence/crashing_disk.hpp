#pragma once

#include "io/file/folder.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace holdfast::tests {

/// What a call on the disk does, for faults and for stepping in between.
enum class disk_call : std::uint8_t {
  create,
  write,
  sync,
  truncate,
  reserve,
  link,
  rename,
  unlink,
  sync_directory,
  open  ///< Of a file that is there; for before() alone, and counted nowhere.
};

/// One directory in memory that behaves like the worst file system that POSIX allows.
///
/// At a power loss each write since the file's last sync survives whole, not at all, or in any set
/// of its 512-byte sectors; a longer size may survive without its data; each name since the
/// directory's last sync is as it was before or after any of its changes. A sync that fails leaves
/// the data readable and never writes it again, as Linux does.
///
/// Thread safety: every function, from any thread, but for the settings, which come first.
class crashing_disk : public std::enable_shared_from_this<crashing_disk> {
 public:
  explicit crashing_disk(std::uint64_t seed) : random_(seed) {}

  /// The directory, as one more process sees it.
  std::unique_ptr<io::folder> folder();

  /// How many calls that change or sync something there were.
  std::uint64_t calls() const;
  /// The power goes in the middle of call number `at`, counted from 1: from then on nothing works.
  void lose_power_at(std::uint64_t at) { off_at_ = at; }
  bool is_off() const;
  /// Call number `at` fails with this errno. A write has then written any part of its bytes.
  void fail_at(std::uint64_t at, int code) { fail_at_ = at, fail_code_ = code; }
  /// Every call of this kind fails from now on, until it is told otherwise with zero.
  void fail_all(disk_call kind, int code);
  /// Every write writes any part of its bytes, at least one.
  void write_shortly() { short_writes_ = true; }
  /// ENOSPC when the files together would take more.
  void limit_bytes(std::uint64_t limit) { limit_ = limit; }
  std::uint64_t used_bytes() const;
  /// Whether the directory's own name was synced.
  bool is_named() const;
  /// Before the next call of this kind, once: for somebody who steps in between.
  void before(disk_call kind, std::function<void()> what);

  /// What the disk holds after a power loss at this moment, or at the one that was set.
  std::shared_ptr<crashing_disk> after_power_loss();

  /// Changes what is stored, past every rule: damage.
  std::vector<std::byte> content(const std::string& name) const;
  void overwrite(const std::string& name, std::vector<std::byte> content);
  void forget(const std::string& name);
  std::vector<std::string> names() const;

 private:
  friend class crashing_file;
  friend class crashing_folder;
  struct change {
    std::uint64_t offset{};
    std::vector<std::byte> bytes{};
    bool truncates{};  ///< To `offset`.
  };
  struct inode {
    std::vector<std::byte> now;
    std::vector<std::byte> synced;
    std::vector<change> since;
    std::vector<change> given_up{};  ///< By a sync that failed: never written again.
    std::unique_ptr<std::uint64_t[]> mapped{};
    std::size_t mapped_size{};
    std::uint64_t reserved{};
    void apply(const change& c);
    void load_mapped();
  };
  using entry = std::shared_ptr<inode>;

  enum class fate : std::uint8_t { whole, cut, failed };
  void run_hook(disk_call kind);
  io::answer step(disk_call kind, const std::function<io::answer(fate)>& call);
  void survive(inode& left, const std::vector<change>& changes);
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::uint64_t used() const;
  void set_name(const std::string& name, entry what);
  void keep_names();
  std::vector<std::byte> surviving(inode& of);
  std::shared_ptr<crashing_disk> lose();

  mutable std::recursive_mutex mutex_;
  std::mt19937_64 random_;
  std::map<std::string, entry> names_;
  std::map<std::string, entry> synced_names_;
  std::map<std::string, std::vector<entry>> touched_;
  std::map<disk_call, int> failing_;
  std::multimap<disk_call, std::function<void()>> hooks_;
  std::uint64_t calls_{};
  std::uint64_t off_at_{};
  std::uint64_t fail_at_{};
  int fail_code_{};
  std::uint64_t limit_{UINT64_MAX};
  bool short_writes_{};
  bool off_{};
  bool named_{};
  std::shared_ptr<crashing_disk> left_;
};

}  // namespace holdfast::tests
