#include "fence/floor_file.hpp"

#include "core/assert.hpp"
#include "core/invalid.hpp"
#include "io/file/file_system.hpp"
#include "io/file/files.hpp"
#include "io/process/process_identity.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

namespace holdfast::fencing {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view scheme = "file:";
constexpr duration lock_limit = 5s;
constexpr const char* maker = "; the first token that is checked or raised there makes it";

using core::invalid;
error damaged(std::string text) { return {errc::damaged, std::move(text)}; }

std::string text_of(page_view data) {
  std::string text(data.size(), '\0');
  std::memcpy(text.data(), data.data(), data.size());
  return text;
}

std::string until_zero(const std::string& text) { return text.substr(0, text.find('\0')); }

// What is left of a header whose making was cut off: some of its bytes, and zeros.
bool is_unfinished(page_view head) {
  for (std::size_t i = 0; i < head.size(); ++i) {
    const char ours = i < format_text.size() ? format_text[i] : '\0';
    const char there = static_cast<char>(head[i]);
    if (there != '\0' && there != ours) return false;
  }
  return true;
}

}  // namespace

/// Nobody else reads or changes the records.
class floor_file::records_lock {
 public:
  explicit records_lock(floor_locks& of) : of_(of), got_(of.lock_records(lock_limit)) {}
  records_lock(const records_lock&) = delete;
  records_lock& operator=(const records_lock&) = delete;
  ~records_lock() {
    if (got_) of_.unlock_records();
  }
  const result<void>& got() const noexcept { return got_; }

 private:
  floor_locks& of_;
  result<void> got_;
};

result<std::string> floor_file::path_in(std::string_view url) {
  if (!url.starts_with(scheme)) {
    // What a store on servers has there may be a password.
    const bool is_others = url.find("://") != url.npos || url.find('@') != url.npos;
    const std::string_view scheme_of_url = url.substr(0, is_others ? url.find(':') : url.npos);
    const std::string shown =
        lock_name(std::string(scheme_of_url)).printable() + (is_others ? ":..." : "");
    return invalid("a fence is in file:PATH, such as file:/srv/data/fence; '" + shown + "' is not");
  }
  std::string path(url.substr(scheme.size()));
  if (path.empty() || path.front() != '/') {
    return invalid(
        "file:PATH needs an absolute path, or it would be another file in every "
        "directory; it has '" +
        lock_name(path).printable() + "'");
  }
  if (path.back() == '/' || path.find('\0') != std::string::npos) {
    return invalid("file:PATH names a file, not the directory " + lock_name(path).printable());
  }
  return path;
}

result<std::unique_ptr<floor_file>> floor_file::open(std::string_view url, std::string resource,
                                                     missing what) {
  const auto path = path_in(url);
  if (!path) return path.error();
  const auto slash = path->rfind('/');
  const std::string above = slash == 0 ? "/" : path->substr(0, slash);
  const std::string name = path->substr(slash + 1);
  auto in = io::open_folder(above, io::absent::refuse);
  if (!in) return in.error();
  return open(std::move(*in), name, std::move(resource), what, [&]() -> result<floor_locks> {
    const auto fd = io::open_directory(above);
    if (!fd) return fd.error();
    auto file = io::open_existing({fd->get(), above}, name.c_str());
    if (!file) return file.error();
    if (!*file) return error(errc::unavailable, *path + " was removed while it was opened");
    // A container may have the one file mounted from elsewhere.
    if (auto good = io::expect_local((*file)->get(), *path); !good) return good.error();
    return floor_locks(std::move(**file), *path);
  });
}

result<std::unique_ptr<floor_file>> floor_file::open(std::unique_ptr<io::folder> in,
                                                     const std::string& name, std::string resource,
                                                     missing what, const make_locks& locks) {
  if (auto good = lock_name(resource).check(); !good) {
    return invalid("a resource's name is like that of a lock: " + good.error().message());
  }
  int code = 0;
  auto file = in->open(name, io::opening::write, code);
  if (!file && code == ENOENT && what == missing::create) {
    file = in->open(name, io::opening::create, code);
    if (!file && code == EEXIST) file = in->open(name, io::opening::write, code);
  }
  if (!file && code == ENOENT) {
    return error(errc::unavailable, in->at(name) + " is not there" + maker);
  }
  if (!file) return io::file_failure("open", in->at(name), code);
  std::unique_ptr<floor_file> made(
      new floor_file(std::move(in), std::move(file), name, std::move(resource)));
  auto shared = locks();
  if (!shared) return shared.error();
  made->locks_ = std::move(*shared);
  if (auto good = made->enter(what); !good) return good.error();
  return made;
}

// The header is on the disk, and so is the file's name, before the first record.
result<void> floor_file::enter(missing what) {
  const records_lock alone(locks_);
  if (!alone.got()) return alone.got();
  page head{};
  const auto there = io::read_fully(*file_, head, 0, path_);
  if (!there) return there.error();
  const std::string text = until_zero(text_of(page_view(head).first(stop_offset)));
  if (*there < page_bytes || text != format_text) {
    if (text.starts_with(format_magic) && text.size() >= format_text.size() &&
        text != format_text) {
      return damaged(path_ +
                     " is a floor file of another version than this program's (1); it was "
                     "not touched. Use the program that made it, or another file");
    }
    const auto size = file_->size();
    const bool small = size && size.value <= static_cast<std::int64_t>(page_bytes);
    if (!small || !is_unfinished(page_view(head).first(*there))) {
      return damaged(
          path_ +
          " is not a floor file, or its beginning is damaged; it was not touched. Name "
          "another file if it never was one. If it was, restore it: a new file has no floors, and "
          "admits stale tokens until `fence raise` has set each resource's floor to the "
          "newest token that was granted");
    }
    if (what == missing::refuse)
      return error(errc::unavailable, path_ + " has no fence yet" + maker);
    if (auto made = write_header(); !made) return made;
  }
  if (auto good = check_stopped(); !good) return good;
  // Also what another process has made and may not have synced.
  if (what == missing::create) return synced(folder_->sync(), folder_->path());
  auto at = find();
  if (!at) return at.error();
  if (at->at.is != copies::state::blank) return {};
  return error(errc::unavailable,
               path_ + " has no resource " + lock_name(resource_).printable() + maker);
}

result<void> floor_file::write_header() {
  page head{};
  std::memcpy(head.data(), format_text.data(), format_text.size());
  if (auto done = io::write_fully(*file_, head, 0, path_); !done) return done;
  return synced(file_->sync(), path_);
}

// What a failed sync should have written may be shown by the file and not be on the disk, and
// another sync would say that all is well.
result<void> floor_file::synced(io::answer sync, const std::string& what) {
  if (sync) return {};
  stopped_ = "a sync failed";  // Needs no memory: what follows may throw.
  stopped_ = io::file_failure("sync", what, sync.code).message();
  // For this boot alone: after the next one everybody reads what is on the disk itself.
  std::string mark = (io::boot_id() + "\n" + stopped_).substr(0, stop_bytes);
  mark.resize(stop_bytes, '\0');
  static_cast<void>(io::write_fully(*file_, std::as_bytes(std::span(mark)), stop_offset, path_));
  return check_stopped();
}

result<void> floor_file::check_stopped() {
  if (stopped_.empty()) {
    std::array<std::byte, stop_bytes> mark{};
    const auto there = io::read_fully(*file_, mark, stop_offset, path_);
    if (!there) return there.error();
    const std::string text = until_zero(text_of(mark));
    const auto end_of_boot = text.find('\n');
    if (end_of_boot != std::string::npos) {
      // Where either id could not be read (no /proc) it may well be this boot.
      const std::string now = io::boot_id();
      const bool may_be_now = end_of_boot == 0 || now.empty() || text.substr(0, end_of_boot) == now;
      if (may_be_now) stopped_ = text.substr(end_of_boot + 1);
    }
  }
  if (stopped_.empty()) return {};
  return error(
      errc::unavailable,
      lock_name(stopped_).printable() + ": floors that " + path_ +
          " shows may not be on the disk, so it admits nothing until the next boot. To go on "
          "before, make a new file on a sound disk: holdfast fence raise file:NEW RESOURCE "
          "N, with N above every token that was given");
}

result<std::uint64_t> floor_file::count() {
  const auto size = file_->size();
  if (!size) return io::file_failure("look at", path_, size.code);
  const auto bytes = static_cast<std::uint64_t>(size.value);
  if (bytes <= page_bytes) return std::uint64_t{0};
  return (bytes - page_bytes + 2 * page_bytes - 1) / (2 * page_bytes);
}

result<copies> floor_file::read_at(std::uint64_t index, std::uint64_t all) {
  std::array<std::byte, 2 * page_bytes> both{};
  const std::uint64_t number = 1 + 2 * index;
  const auto there = io::read_fully(*file_, both, number * page_bytes, path_);
  if (!there) return there.error();
  const page_view view(both);
  return read_copies(view.first(page_bytes), view.last(page_bytes), number, index + 1 == all);
}

// Blank, with the place where it would be made, when there is none.
result<floor_file::found> floor_file::find() {
  const auto all = count();
  if (!all) return all.error();
  bool unreadable = false;
  found at{.index = *all, .at = {}};
  for (std::uint64_t i = index_.value_or(0); i < *all; ++i) {
    auto here = read_at(i, *all);
    if (!here) return here.error();
    if (here->is == copies::state::blank) {
      at.index = i;
    } else if (here->is == copies::state::damaged) {
      unreadable = true;
    } else if (here->what.resource == resource_) {
      index_ = i;
      return found{i, std::move(*here)};
    }
    if (index_) break;
  }
  if (!unreadable && !index_) return at;
  return damaged(path_ + ": both copies of a record cannot be read, and it may be that of " +
                 lock_name(resource_).printable() +
                 "; nothing was changed. Resources that are found are served; for this one, "
                 "restore the file or use a new one, with a floor above every token that was "
                 "given");
}

result<floor_record> floor_file::read() {
  const records_lock alone(locks_);
  if (!alone.got()) return alone.got().error();
  if (auto good = check_stopped(); !good) return good.error();
  auto at = find();
  if (!at) return at.error();
  return at->at.what.kept;
}

result<floor_record> floor_file::update(const step& next) {
  const records_lock alone(locks_);
  if (!alone.got()) return alone.got().error();
  if (auto good = check_stopped(); !good) return good.error();
  auto at = find();
  if (!at) return at.error();
  auto wanted = next(at->at.what.kept);
  if (!wanted) {
    // What refuses has to be on the disk, or a power loss lets in what was refused.
    const auto is = at->at.is;
    if (is == copies::state::one_ahead || is == copies::state::one_torn) {
      if (auto done = store(*at, at->at.what); !done) return done.error();
    }
    return wanted;
  }
  // Two that differ: whoever wrote the first may have ended before it was synced.
  if (at->at.is == copies::state::equal && at->at.what.kept == *wanted) return wanted;
  if (auto done = store(*at, {resource_, *wanted}); !done) return done.error();
  index_ = at->index;
  return wanted;
}

result<void> floor_file::store(const found& at, const stored_record& next) {
  const std::uint64_t first = 1 + 2 * at.index;
  // The only whole copy is not the one to write first.
  const bool backwards = at.at.is == copies::state::one_torn && at.at.first_is_whole;
  for (const std::uint64_t number :
       {backwards ? first + 1 : first, backwards ? first : first + 1}) {
    if (auto done = write_page(number, next); !done) return done;
  }
  return {};
}

result<void> floor_file::write_page(std::uint64_t number, const stored_record& r) {
  const page data = encode(r, number);
  if (auto done = io::write_fully(*file_, data, number * page_bytes, path_); !done) return done;
  return synced(file_->sync(), path_);
}

result<bool> floor_file::others_ended(token t, sharing how, kinds keep) {
  HOLDFAST_ASSERT(index_.has_value());
  return locks_.others_ended(*index_, t, how, keep);
}

void floor_file::settled(token t) noexcept {
  if (index_) locks_.settled(*index_, t);
}

void floor_file::ended(sharing how) noexcept {
  if (index_) locks_.ended(*index_, how);
}

}  // namespace holdfast::fencing
