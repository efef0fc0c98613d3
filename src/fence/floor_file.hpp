#pragma once

#include "fence/floor_codec.hpp"
#include "fence/floor_keeper.hpp"
#include "fence/floor_locks.hpp"
#include "io/file/folder.hpp"

#include <holdfast/missing.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::fencing {

/// One resource of a floor file. See floor_codec.hpp for the form.
///
/// A change writes the first copy and syncs it, then the second and syncs that: at every moment one
/// of them is whole, and two that are equal are on the disk. (Two copies and not a log of records:
/// a change never moves another resource's data, the file never needs compaction, and a page that
/// goes bad later is unlike one that was torn by a crash, because its copy is still good.)
///
/// A sync that fails may have dropped what it should have written while the file still shows it
/// (fsync(2), errors since Linux 4.13). So it is never tried again: this object answers
/// `unavailable` from then on, and the file says so to every other process.
///
/// Thread safety: none; the gate's mutex.
class floor_file final : public floor_keeper {
 public:
  /// `file:PATH`. Errors: see fence::open.
  static result<std::unique_ptr<floor_file>> open(std::string_view url, std::string resource,
                                                  missing what);
  /// In a folder that is open. The locks are made of the same file.
  using make_locks = std::function<result<floor_locks>()>;
  static result<std::unique_ptr<floor_file>> open(std::unique_ptr<io::folder> in,
                                                  const std::string& name, std::string resource,
                                                  missing what, const make_locks& locks);
  /// The absolute path of a `file:PATH`. Errors: `invalid_argument`.
  static result<std::string> path_in(std::string_view url);

  result<floor_record> read() override;
  result<floor_record> update(const step& next) override;
  result<bool> others_ended(token t, sharing how, kinds keep) override;
  void settled(token t) noexcept override;
  void ended(sharing how) noexcept override;
  std::string where() const override { return path_; }

 private:
  floor_file(std::unique_ptr<io::folder> in, std::unique_ptr<io::folder_file> file,
             const std::string& name, std::string resource)
      : folder_(std::move(in)),
        file_(std::move(file)),
        path_(folder_->at(name)),
        resource_(std::move(resource)) {}

  struct found {
    std::uint64_t index{};
    copies at{};
  };
  class records_lock;

  /// Checks the header, and makes it where there is none and `what` lets it.
  result<void> enter(missing what);
  result<void> write_header();
  /// `unavailable` once a sync of the file failed, in whichever process of this boot.
  result<void> check_stopped();
  /// Records in the file; the last one may be cut off.
  result<std::uint64_t> count();
  /// `count` is that of all: only the last record may be one that was just being made.
  result<copies> read_at(std::uint64_t index, std::uint64_t count);
  result<found> find();
  /// Both copies, one after the other; each is synced before the next is touched.
  result<void> store(const found& at, const stored_record& next);
  result<void> write_page(std::uint64_t number, const stored_record& r);
  result<void> synced(io::answer sync, const std::string& what);

  std::unique_ptr<io::folder> folder_;
  std::unique_ptr<io::folder_file> file_;
  std::string path_;
  std::string resource_;
  floor_locks locks_;
  std::optional<std::uint64_t> index_;  ///< Once it is there it stays there.
  std::string stopped_;                 ///< Why nothing is trusted any more; empty: it is.
};

}  // namespace holdfast::fencing
