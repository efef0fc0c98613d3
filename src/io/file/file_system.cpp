#include "io/file/file_system.hpp"

#include "io/file/files.hpp"

#include <sys/vfs.h>

#include <cerrno>
#include <cstdio>

namespace holdfast::io {
namespace {

struct known {
  std::uint32_t magic;
  const char* name;
  bool local;
};

// linux/magic.h and statfs(2). Local here means tried or known to have coherent shared mappings and
// record locks that the kernel of this host alone decides.
constexpr known table[] = {
    {0xEF53, "ext4", true},          {0x58465342, "xfs", true},     {0x9123683E, "btrfs", true},
    {0x01021994, "tmpfs", true},     {0x794C7630, "overlay", true}, {0x6969, "nfs", false},
    {0xFF534D42, "cifs", false},     {0xFE534D42, "smb2", false},   {0x517B, "smb", false},
    {0x65735546, "fuse", false},     {0x01021997, "9p", false},     {0x9FA0, "proc", false},
    {0x62656572, "sysfs", false},    {0x00C36400, "ceph", false},   {0x01161970, "gfs2", false},
    {0x7461636F, "ocfs2", false},    {0x4D44, "vfat", false},       {0x2011BAB0, "exfat", false},
    {0x5346414F, "afs", false},      {0x2FC12FC1, "zfs", false},    {0x786F4256, "vboxsf", false},
    {0x858458F6, "ramfs", false},    {0xF2F52010, "f2fs", false},   {0xCA451A4E, "bcachefs", false},
    {0x73717368, "squashfs", false}, {0x1CD1, "devpts", false},     {0x27E0EB, "cgroup", false},
    {0x63677270, "cgroup2", false},
};

}  // namespace

result<file_system> file_system_of(int fd, std::string_view path) {
  struct statfs s {};
  if (::fstatfs(fd, &s) != 0) return file_failure("look at the file system of", path, errno);
  const auto magic = static_cast<std::uint32_t>(s.f_type);
  const auto free = static_cast<std::uint64_t>(s.f_bavail) * static_cast<std::uint64_t>(s.f_bsize);
  for (const known& k : table) {
    if (k.magic == magic) return file_system{k.name, k.local, free};
  }
  char text[32];
  std::snprintf(text, sizeof text, "type 0x%x", magic);
  return file_system{text, false, free};
}

result<void> expect_local(int fd, const std::string& path) {
  const auto kind = file_system_of(fd, path);
  if (!kind) return kind.error();
  if (kind->local) return {};
  return error(errc::unsupported,
               path + " is on " + kind->name +
                   ", which is not known to keep links, shared mappings and syncs of this " +
                   "machine coherent; use ext4, xfs, btrfs or tmpfs");
}

}  // namespace holdfast::io
