#include "tests/etcd/freezing_disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace holdfast::etcd_tests {

namespace {

bool runs(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace

freezing_disk::freezing_disk() {
  if (::geteuid() != 0) {
    obstacle_ = "only root may mount and freeze a file system";
    return;
  }
  const std::string image = files_.path() + "/image";
  if (!runs("truncate -s 512M " + image) || !runs("mkfs.ext4 -q -F " + image) ||
      !runs("mount -o loop " + image + " " + path())) {
    obstacle_ = "no file system can be mounted on a loop device here";
    return;
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  // Nobody can be killed who waits for a frozen disk: it has to thaw though the test crashed.
  keeper_ = process::child::fork([&] {
    ::close(ends[1]);
    char byte{};
    while (::read(ends[0], &byte, 1) > 0) {
    }
    runs("fsfreeze -u " + path());
    runs("umount -l " + path());
    return 0;
  });
  ::close(ends[0]);
  lifeline_ = ends[1];
  if (!runs("fsfreeze -f " + path()) || !runs("fsfreeze -u " + path())) {
    obstacle_ = "this kernel freezes no file system";
  }
}

freezing_disk::~freezing_disk() {
  if (lifeline_ < 0) return;
  ::close(lifeline_);
  static_cast<void>(keeper_.wait());
}

void freezing_disk::freeze() {
  if (!runs("fsfreeze -f " + path())) throw std::runtime_error("fsfreeze -f " + path());
}

void freezing_disk::thaw() { runs("fsfreeze -u " + path()); }

}  // namespace holdfast::etcd_tests
