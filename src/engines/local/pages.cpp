#include "engines/local/pages.hpp"

#include "engines/local/bytes.hpp"
#include "io/file/files.hpp"

#include <array>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::engines::local {
namespace {

// The file format of LMDB 0.9 (data version 1), from mdb.c: MDB_page, MDB_meta, MDB_db, MDB_node.
// In the machine's own byte order and word size, as LMDB writes it.
using page_number = std::size_t;

constexpr std::uint32_t page_magic = 0xBEEFC0DE;
constexpr std::uint32_t data_version = 1;
constexpr page_number no_page = ~page_number{0};
constexpr page_number metas = 2;
constexpr std::uint16_t deepest = 32;  // CURSOR_STACK
constexpr std::size_t longest_key = 511;
constexpr std::uint16_t integer_keys = 0x08;
constexpr std::uint16_t value_elsewhere = 0x01;  // F_BIGDATA

enum page_kind : std::uint16_t { branch = 0x01, leaf = 0x02, overflow = 0x04 };

struct page_header {
  page_number number;
  std::uint16_t pad;
  std::uint16_t flags;
  std::uint16_t lower;
  std::uint16_t upper;
};

struct tree {
  std::uint32_t page_size;  // Of the tree of free pages only.
  std::uint16_t flags;
  std::uint16_t depth;
  std::array<std::size_t, 4> counts;
  page_number root;
};

struct meta {
  std::uint32_t magic;
  std::uint32_t version;
  std::size_t address;
  std::size_t map_size;
  tree free;
  tree main;
  page_number last;
  std::size_t transaction;
};

struct node {
  std::uint16_t first;
  std::uint16_t second;
  std::uint16_t flags;
  std::uint16_t key_size;

  // mn_lo and mn_hi of mdb.c: their order is that of the machine's bytes.
  std::size_t low_word() const {
    constexpr bool little = std::endian::native == std::endian::little;
    return little ? first | std::size_t{second} << 16U : second | std::size_t{first} << 16U;
  }
  // Shifted twice: a page number of 32 bits has no upper half.
  page_number child() const { return low_word() | page_number{flags} << 16U << 16U; }
};

template <class T>
T at(bytes page, std::size_t offset) {
  T value;
  std::memcpy(&value, page.data() + offset, sizeof value);
  return value;
}

/// Walks one file. The first fault ends it.
class page_walk {
 public:
  page_walk(int fd, std::uint64_t bytes_in_file, const std::string& path)
      : fd_(fd), bytes_in_file_(bytes_in_file), path_(path) {}

  result<std::string> run(std::uint64_t most) {
    if (const auto newest = newest_meta()) {
      size_ = newest->free.page_size;
      if (newest->last < metas - 1 || newest->last >= most / size_) {
        return why_ = "it claims " + std::to_string(newest->last) + " pages";
      }
      used_.resize(newest->last + 1);
      used_[0] = used_[1] = true;
      (void)(walk(newest->main, false) && walk(newest->free, true));
    }
    if (failed_) return *failed_;
    return why_;
  }

 private:
  bool bad(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }
  bool bad(page_number n, const char* what) {
    return bad("its page " + std::to_string(n) + " " + what);
  }

  bool read(std::vector<std::byte>& into, std::uint64_t offset) {
    if (offset + into.size() > bytes_in_file_) {
      return bad("it ends after " + std::to_string(bytes_in_file_) +
                 " bytes, before its last page");
    }
    auto got = io::read_at(fd_, into, offset, path_);
    if (!got) failed_ = got.error();
    return static_cast<bool>(got);
  }

  std::optional<meta> read_meta(std::uint64_t offset) {
    std::vector<std::byte> page(sizeof(page_header) + sizeof(meta));
    if (!read(page, offset)) return std::nullopt;
    const auto m = at<meta>(page, sizeof(page_header));
    if (m.magic == page_magic && m.version == data_version) return m;
    bad("it is not an LMDB file of version 1");
    return std::nullopt;
  }

  // As LMDB chooses: the second only when it is newer.
  std::optional<meta> newest_meta() {
    const auto one = read_meta(0);
    if (!one) return std::nullopt;
    const std::uint32_t size = one->free.page_size;
    if (!std::has_single_bit(size) || size < 512 || size > 65536) {
      bad("its pages have " + std::to_string(size) + " bytes");
      return std::nullopt;
    }
    const auto two = read_meta(size);
    if (two && two->free.page_size != size) bad("its two heads disagree");
    if (!why_.empty() || !two) return std::nullopt;
    return one->transaction < two->transaction ? two : one;
  }

  bool walk(const tree& t, bool of_free_pages) {
    of_free_pages_ = of_free_pages;
    const std::uint16_t kind = t.flags & 0xFFU;
    if (kind != (of_free_pages ? integer_keys : 0)) return bad("its tables are of another kind");
    if (t.root == no_page && t.depth == 0) return true;
    if (t.depth == 0 || t.depth > deepest) return bad("a tree has a wrong depth");
    return visit(t.root, t.depth);
  }

  // Every page belongs to one place, which also ends a walk in circles.
  bool claim(page_number n) {
    if (n >= used_.size()) return bad(n, "lies behind its last one");
    if (used_[n]) return bad(n, "is used twice");
    used_[n] = true;
    return true;
  }

  bool visit(page_number n, unsigned levels) {
    std::vector<std::byte> page(size_);
    if (!claim(n) || !read(page, n * size_)) return false;
    const auto head = at<page_header>(page, 0);
    const bool is_leaf = levels == 1;
    if (head.number != n || head.flags != (is_leaf ? leaf : branch)) {
      return bad(n, "is not what the tree needs there");
    }
    if (head.lower < sizeof head || head.lower > head.upper || head.upper > size_ ||
        head.lower % 2 != 0) {
      return bad(n, "has wrong bounds");
    }
    const std::size_t count = (head.lower - sizeof head) / 2;
    if (count < (is_leaf ? 1 : 2)) return bad(n, "has too few entries");
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = at<std::uint16_t>(page, sizeof head + 2 * i);
      if (place < head.upper || place % 2 != 0 || place + sizeof(node) > size_) {
        return bad(n, "points outside of itself");
      }
      const auto entry = at<node>(page, place);
      const std::size_t value = place + sizeof(node) + entry.key_size;
      if (value > size_ || entry.key_size > longest_key) return bad(n, "has a key without an end");
      if (!(is_leaf ? leaf_entry(n, page, entry, value) : visit(entry.child(), levels - 1))) {
        return false;
      }
    }
    return true;
  }

  bool leaf_entry(page_number n, bytes page, const node& entry, std::size_t value) {
    const std::size_t length = entry.low_word();
    if (of_free_pages_ && entry.key_size != sizeof(std::size_t)) return bad(n, "has a wrong key");
    if (entry.flags == 0) {
      if (length > size_ - value) return bad(n, "has a value without an end");
      return !of_free_pages_ || free_list(n, page.subspan(value, length));
    }
    if (entry.flags != value_elsewhere || size_ - value < sizeof(page_number)) {
      return bad(n, "has an entry of an unknown kind");
    }
    return far_value(at<page_number>(page, value), length);
  }

  // OVPAGES of mdb.c: the header stands once, before the first of the pages.
  bool far_value(page_number first, std::size_t length) {
    const std::size_t pages = (sizeof(page_header) - 1 + length) / size_ + 1;
    for (std::size_t i = 0; i < pages; ++i) {
      if (!claim(first + i)) return false;
    }
    std::vector<std::byte> all(sizeof(page_header) + length);
    if (!read(all, first * size_)) return false;
    const auto head = at<page_header>(all, 0);
    const auto stated = at<std::uint32_t>(all, offsetof(page_header, lower));
    if (head.number != first || head.flags != overflow || stated != pages) {
      return bad(first, "is not the long value that belongs there");
    }
    return !of_free_pages_ || free_list(first, bytes(all).subspan(sizeof head));
  }

  // A count, then that many page numbers, the largest first; what follows is spare room.
  bool free_list(page_number n, bytes value) {
    constexpr std::size_t word = sizeof(page_number);
    const std::size_t room = value.size() / word;
    const std::size_t count = room == 0 ? 0 : at<std::size_t>(value, 0);
    if (room == 0 || count >= room) return bad(n, "has a free list without an end");
    page_number above = no_page;
    for (std::size_t i = 1; i <= count; ++i) {
      const auto free = at<page_number>(value, i * word);
      if (free >= above) return bad(n, "has a free list out of order");
      if (!claim(free)) return false;
      above = free;
    }
    return true;
  }

  int fd_;
  std::uint64_t bytes_in_file_;
  const std::string& path_;
  std::size_t size_{};
  bool of_free_pages_{};
  std::vector<bool> used_;
  std::string why_;
  std::optional<error> failed_;
};

}  // namespace

result<std::string> damage_of_pages(int fd, std::uint64_t size, std::uint64_t most,
                                    const std::string& path) {
  return page_walk(fd, size, path).run(most);
}

}  // namespace holdfast::engines::local
