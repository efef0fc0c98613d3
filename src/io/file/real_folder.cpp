#include "io/file/file_system.hpp"
#include "io/file/files.hpp"
#include "io/file/folder.hpp"
#include "io/file/unique_fd.hpp"
#include "io/thread/mutex.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

/// The real disk of a log: one system call for each function, and what it answered. What is to be
/// made of that is decided above, where a disk of tests can be in its place.

namespace holdfast::io {
namespace {

answer answered(std::int64_t value) { return value < 0 ? answer{-1, errno} : answer{value, 0}; }

class real_file final : public folder_file {
 public:
  real_file(unique_fd fd, bool writable) : fd_(std::move(fd)), writable_(writable) {}

  answer read(std::span<std::byte> into, std::uint64_t offset) override {
    return answered(::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset)));
  }
  answer write(std::span<const std::byte> from, std::uint64_t offset) override {
    return answered(::pwrite(fd_.get(), from.data(), from.size(), static_cast<off_t>(offset)));
  }
  // A changed size is written as well, for without it the data could not be read: fdatasync(2).
  answer sync() override { return answered(::fdatasync(fd_.get())); }
  answer truncate(std::uint64_t size) override {
    return answered(::ftruncate(fd_.get(), static_cast<off_t>(size)));
  }
  answer reserve(std::uint64_t offset, std::uint64_t size) override {
    return answered(::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                                static_cast<off_t>(size)));
  }
  answer size() override {
    struct stat s {};
    if (::fstat(fd_.get(), &s) != 0) return answered(-1);
    return {s.st_size, 0};
  }
  std::byte* map(std::size_t size, int& code) override {
    const held_mutex hold(mutex_);
    if (mapped_.data != nullptr && mapped_.size >= size) return mapped_.data;
    const int rights = writable_ ? PROT_READ | PROT_WRITE : PROT_READ;
    void* data = ::mmap(nullptr, size, rights, MAP_SHARED, fd_.get(), 0);
    if (data == MAP_FAILED) {
      code = errno;
      return nullptr;
    }
    mapped_ = mapping(static_cast<std::byte*>(data), size);
    return mapped_.data;
  }

 private:
  struct mapping {
    std::byte* data{};
    std::size_t size{};
    mapping() = default;
    mapping(std::byte* at, std::size_t bytes) : data(at), size(bytes) {}
    mapping& operator=(mapping&& other) noexcept {
      std::swap(data, other.data);
      std::swap(size, other.size);
      return *this;
    }
    ~mapping() {
      if (data != nullptr) ::munmap(data, size);
    }
  };

  unique_fd fd_;
  bool writable_;
  mutex mutex_;
  mapping mapped_ HOLDFAST_GUARDED_BY(mutex_);
};

class real_folder final : public folder {
 public:
  real_folder(unique_fd fd, std::string path, mode_t mode)
      : folder(std::move(path)), fd_(std::move(fd)), mode_(mode) {}

  std::unique_ptr<folder_file> open(const std::string& name, opening how, int& code) override {
    // O_NONBLOCK: opening a FIFO that somebody put there must not hang.
    const int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
                      (how == opening::read ? O_RDONLY : O_RDWR) |
                      (how == opening::create ? O_CREAT | O_EXCL : 0);
    unique_fd fd(::openat(fd_.get(), name.c_str(), flags, 0600));
    if (!fd) {
      code = errno;
      return nullptr;
    }
    const auto facts = facts_of(fd.get(), at(name));
    if (!facts || !facts->regular) {
      code = EINVAL;
      return nullptr;
    }
    if (how == opening::create) overwrite_in_place(fd.get());
    if (how == opening::create && ::fchmod(fd.get(), mode_) != 0) {
      code = errno;
      return nullptr;
    }
    return std::make_unique<real_file>(std::move(fd), how != opening::read);
  }
  answer link(const std::string& from, const std::string& to) override {
    return answered(::linkat(fd_.get(), from.c_str(), fd_.get(), to.c_str(), 0));
  }
  answer rename(const std::string& from, const std::string& to) override {
    return answered(::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()));
  }
  answer unlink(const std::string& name) override {
    return answered(::unlinkat(fd_.get(), name.c_str(), 0));
  }
  answer sync() override { return answered(::fsync(fd_.get())); }
  answer sync_above() override {
    const unique_fd above(::openat(fd_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return above ? answered(::fsync(above.get())) : answered(-1);
  }
  answer list(std::vector<std::string>& names) override {
    names.clear();
    const int code = add_names_in(fd_.get(), names);
    return {code == 0 ? 0 : -1, code};
  }

 private:
  unique_fd fd_;
  mode_t mode_;
};

}  // namespace

result<std::unique_ptr<folder>> open_folder(const std::string& path, absent what) {
  if (path.empty()) return error(errc::invalid_argument, "the path of a directory is empty");
  const int code = what == absent::create ? make_directory(path, 0700) : 0;
  if (code != 0 && code != EEXIST) {
    return file_failure("create the directory", path, code,
                        "the directory above it has to exist and be yours to write");
  }
  auto fd = open_directory(path);
  if (!fd) return fd.error();
  if (auto good = expect_local(fd->get(), path); !good) return good.error();
  const auto facts = facts_of(fd->get(), path);
  if (!facts) return facts.error();
  // Those who share the directory share its files, but not all users of a machine.
  return std::unique_ptr<folder>(
      std::make_unique<real_folder>(std::move(*fd), path, facts->mode & 0664U));
}

}  // namespace holdfast::io
