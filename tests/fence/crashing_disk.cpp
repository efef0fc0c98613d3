#include "tests/fence/crashing_disk.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace holdfast::tests {

using io::answer;

namespace {

constexpr std::size_t sector = 512;

}  // namespace

void crashing_disk::inode::load_mapped() {
  if (!mapped) return;
  if (now.size() < mapped_size) now.resize(mapped_size);
  // As the kernel does, while others store words.
  for (std::size_t at = 0; at < mapped_size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word =
        reinterpret_cast<std::atomic<std::uint64_t>&>(mapped[at / sizeof(std::uint64_t)]).load();
    std::memcpy(now.data() + at, &word, sizeof word);
  }
}

void crashing_disk::inode::apply(const change& c) {
  if (c.truncates) {
    now.resize(c.offset);
    return;
  }
  if (now.size() < c.offset + c.bytes.size()) now.resize(c.offset + c.bytes.size());
  std::copy(c.bytes.begin(), c.bytes.end(), now.begin() + static_cast<std::ptrdiff_t>(c.offset));
}

class crashing_file final : public io::folder_file {
 public:
  using fate = crashing_disk::fate;

  crashing_file(std::shared_ptr<crashing_disk> disk, crashing_disk::entry node)
      : disk_(std::move(disk)), node_(std::move(node)) {}

  answer read(std::span<std::byte> into, std::uint64_t offset) override {
    const std::lock_guard hold(disk_->mutex_);
    if (disk_->off_) return {-1, EIO};
    node_->load_mapped();
    if (offset >= node_->now.size()) return {0, 0};
    const auto size = std::min(into.size(), node_->now.size() - static_cast<std::size_t>(offset));
    std::memcpy(into.data(), node_->now.data() + offset, size);
    return {static_cast<std::int64_t>(size), 0};
  }

  answer write(std::span<const std::byte> from, std::uint64_t offset) override {
    return disk_->step(disk_call::write, [&](fate how) -> answer {
      std::size_t size = from.size();
      if (how != fate::whole) size = disk_->below(size + 1);
      if (how == fate::whole && disk_->short_writes_) size = 1 + disk_->below(size);
      const std::uint64_t grows =
          offset + size -
          std::min<std::uint64_t>(offset + size,
                                  std::max<std::uint64_t>(node_->now.size(), node_->reserved));
      if (disk_->used() + grows > disk_->limit_) return {-1, ENOSPC};
      if (size == 0) return {0, 0};
      put({offset, {from.begin(), from.begin() + static_cast<std::ptrdiff_t>(size)}});
      return {static_cast<std::int64_t>(size), 0};
    });
  }

  answer sync() override {
    return disk_->step(disk_call::sync, [&](fate how) -> answer {
      if (how == fate::cut) return {0, 0};
      if (how == fate::failed) {
        auto& lost = node_->given_up;
        lost.insert(lost.end(), node_->since.begin(), node_->since.end());
        node_->since.clear();
        return {0, 0};
      }
      node_->load_mapped();
      if (node_->given_up.empty()) {
        node_->synced = node_->now;
      } else {
        crashing_disk::inode written{.now = node_->synced, .synced = {}, .since = {}};
        for (const auto& c : node_->since) written.apply(c);
        node_->synced = std::move(written.now);
      }
      node_->since.clear();
      return {0, 0};
    });
  }

  answer truncate(std::uint64_t size) override {
    return disk_->step(disk_call::truncate, [&](fate how) -> answer {
      if (how != fate::whole && disk_->below(2) == 0) return {0, 0};
      put({size, {}, true});
      node_->reserved = std::min(node_->reserved, size);
      return {0, 0};
    });
  }

  answer reserve(std::uint64_t offset, std::uint64_t size) override {
    return disk_->step(disk_call::reserve, [&](fate) -> answer {
      const std::uint64_t have = std::max<std::uint64_t>(node_->now.size(), node_->reserved);
      const std::uint64_t want = std::max(have, offset + size);
      if (disk_->used() + want - have > disk_->limit_) return {-1, ENOSPC};
      node_->reserved = want;
      return {0, 0};
    });
  }

  answer size() override {
    const std::lock_guard hold(disk_->mutex_);
    if (disk_->off_) return {-1, EIO};
    return {static_cast<std::int64_t>(node_->now.size()), 0};
  }

  std::byte* map(std::size_t size, int& code) override {
    const std::lock_guard hold(disk_->mutex_);
    if (disk_->off_) {
      code = EIO;
      return nullptr;
    }
    if (!node_->mapped) {
      node_->mapped = std::make_unique<std::uint64_t[]>(size / 8 + 1);
      node_->mapped_size = size;
      std::memcpy(node_->mapped.get(), node_->now.data(), std::min(size, node_->now.size()));
    }
    return reinterpret_cast<std::byte*>(node_->mapped.get());
  }

 private:
  void put(crashing_disk::change c) {
    node_->apply(c);
    node_->since.push_back(std::move(c));
  }

  std::shared_ptr<crashing_disk> disk_;
  crashing_disk::entry node_;
};

class crashing_folder final : public io::folder {
 public:
  using fate = crashing_disk::fate;

  explicit crashing_folder(std::shared_ptr<crashing_disk> disk)
      : folder("/disk"), disk_(std::move(disk)) {}

  std::unique_ptr<io::folder_file> open(const std::string& name, io::opening how,
                                        int& code) override {
    crashing_disk::entry found;
    const auto look = [&](fate) -> answer {
      const auto at = disk_->names_.find(name);
      if (at != disk_->names_.end()) found = at->second;
      if (how != io::opening::create) return found ? answer{0, 0} : answer{-1, ENOENT};
      if (found) return {-1, EEXIST};
      found = std::make_shared<crashing_disk::inode>();
      disk_->set_name(name, found);
      return {0, 0};
    };
    answer done;
    if (how == io::opening::create) {
      done = disk_->step(disk_call::create, look);
    } else {
      disk_->run_hook(disk_call::open);
      const std::lock_guard hold(disk_->mutex_);
      done = disk_->off_ ? answer{-1, EIO} : look(fate::whole);
    }
    code = done.code;
    if (!done) return nullptr;
    return std::make_unique<crashing_file>(disk_, found);
  }

  answer link(const std::string& from, const std::string& to) override {
    return disk_->step(disk_call::link, [&](fate) -> answer {
      if (!disk_->names_.contains(from)) return {-1, ENOENT};
      if (disk_->names_.contains(to)) return {-1, EEXIST};
      disk_->set_name(to, disk_->names_.at(from));
      return {0, 0};
    });
  }
  answer rename(const std::string& from, const std::string& to) override {
    return disk_->step(disk_call::rename, [&](fate) -> answer {
      if (!disk_->names_.contains(from)) return {-1, ENOENT};
      disk_->set_name(to, disk_->names_.at(from));
      disk_->set_name(from, nullptr);
      return {0, 0};
    });
  }
  answer unlink(const std::string& name) override {
    return disk_->step(disk_call::unlink, [&](fate) -> answer {
      if (!disk_->names_.contains(name)) return {-1, ENOENT};
      disk_->set_name(name, nullptr);
      return {0, 0};
    });
  }
  answer sync() override {
    return disk_->step(disk_call::sync_directory, [&](fate how) -> answer {
      if (how == fate::whole) disk_->keep_names();
      return {0, 0};
    });
  }
  answer sync_above() override {
    const std::lock_guard hold(disk_->mutex_);
    disk_->named_ = true;
    return {0, 0};
  }
  answer list(std::vector<std::string>& names) override {
    const std::lock_guard hold(disk_->mutex_);
    if (disk_->off_) return {-1, EIO};
    names = disk_->names();
    return {0, 0};
  }

 private:
  std::shared_ptr<crashing_disk> disk_;
};

std::unique_ptr<io::folder> crashing_disk::folder() {
  return std::make_unique<crashing_folder>(shared_from_this());
}

std::uint64_t crashing_disk::calls() const {
  const std::lock_guard hold(mutex_);
  return calls_;
}

std::uint64_t crashing_disk::used_bytes() const {
  const std::lock_guard hold(mutex_);
  return used();
}

bool crashing_disk::is_named() const {
  const std::lock_guard hold(mutex_);
  return named_;
}

bool crashing_disk::is_off() const {
  const std::lock_guard hold(mutex_);
  return off_;
}

void crashing_disk::fail_all(disk_call kind, int code) {
  const std::lock_guard hold(mutex_);
  failing_[kind] = code;
}

void crashing_disk::before(disk_call kind, std::function<void()> what) {
  const std::lock_guard hold(mutex_);
  hooks_.emplace(kind, std::move(what));
}

void crashing_disk::run_hook(disk_call kind) {
  std::function<void()> hook;
  {
    const std::lock_guard hold(mutex_);
    if (const auto at = hooks_.find(kind); at != hooks_.end()) {
      hook = std::move(at->second);
      hooks_.erase(at);
    }
  }
  if (hook) hook();
}

answer crashing_disk::step(disk_call kind, const std::function<answer(fate)>& call) {
  run_hook(kind);
  const std::lock_guard hold(mutex_);
  if (off_) return {-1, EIO};
  ++calls_;
  if (calls_ == off_at_) {
    (void)call(fate::cut);
    left_ = lose();
    off_ = true;
    return {-1, EIO};
  }
  const auto all = failing_.find(kind);
  const int code = calls_ == fail_at_ ? fail_code_ : all == failing_.end() ? 0 : all->second;
  if (code == 0) return call(fate::whole);
  if (kind == disk_call::write || kind == disk_call::sync) (void)call(fate::failed);
  return {-1, code};
}

std::uint64_t crashing_disk::used() const {
  std::uint64_t sum = 0;
  for (const auto& [name, node] : names_) {
    sum += std::max<std::uint64_t>(node->now.size(), node->reserved);
  }
  return sum;
}

void crashing_disk::set_name(const std::string& name, entry what) {
  touched_[name].push_back(what);
  if (what) {
    names_[name] = std::move(what);
  } else {
    names_.erase(name);
  }
}

void crashing_disk::keep_names() {
  synced_names_ = names_;
  touched_.clear();
}

void crashing_disk::survive(inode& left, const std::vector<change>& changes) {
  for (const change& c : changes) {
    const auto luck = below(4);
    if (luck == 0) continue;
    if (c.truncates || luck == 1) {
      left.apply(c);
      continue;
    }
    const std::size_t end = c.offset + c.bytes.size();
    if (luck == 2 && left.now.size() < end) left.now.resize(end);  // The size without the data.
    for (std::size_t at = 0; at < c.bytes.size();) {
      const std::size_t next = std::min(c.bytes.size(), at + sector - (c.offset + at) % sector);
      const auto from = c.bytes.begin() + static_cast<std::ptrdiff_t>(at);
      const auto to = c.bytes.begin() + static_cast<std::ptrdiff_t>(next);
      if (below(2) == 0) left.apply({c.offset + at, {from, to}});
      at = next;
    }
  }
}

std::vector<std::byte> crashing_disk::surviving(inode& of) {
  inode left{.now = of.synced, .synced = {}, .since = {}};
  survive(left, of.given_up);
  survive(left, of.since);
  if (of.mapped) {
    of.load_mapped();
    for (std::size_t at = 0; at < of.mapped_size; at += sector) {
      if (below(2) == 0) continue;
      const std::size_t end = std::min(of.mapped_size, at + sector);
      left.apply({at,
                  {of.now.begin() + static_cast<std::ptrdiff_t>(at),
                   of.now.begin() + static_cast<std::ptrdiff_t>(end)}});
    }
  }
  return std::move(left.now);
}

std::shared_ptr<crashing_disk> crashing_disk::lose() {
  auto left = std::make_shared<crashing_disk>(random_());
  auto names = synced_names_;
  for (const auto& [name, states] : touched_) {
    const auto pick = below(states.size() + 1);
    if (pick == states.size()) continue;  // As it was at the last sync.
    if (states[pick]) {
      names[name] = states[pick];
    } else {
      names.erase(name);
    }
  }
  std::map<inode*, entry> copies;
  for (const auto& [name, node] : names) {
    entry& copy = copies[node.get()];
    if (!copy) {
      copy = std::make_shared<inode>();
      copy->now = copy->synced = surviving(*node);
    }
    left->names_[name] = copy;
  }
  left->keep_names();
  return left;
}

std::shared_ptr<crashing_disk> crashing_disk::after_power_loss() {
  const std::lock_guard hold(mutex_);
  if (!off_) left_ = lose();
  off_ = true;
  return left_;
}

std::vector<std::byte> crashing_disk::content(const std::string& name) const {
  const std::lock_guard hold(mutex_);
  names_.at(name)->load_mapped();
  return names_.at(name)->now;
}

void crashing_disk::overwrite(const std::string& name, std::vector<std::byte> content) {
  const std::lock_guard hold(mutex_);
  auto node = std::make_shared<inode>();
  node->now = node->synced = std::move(content);
  names_[name] = synced_names_[name] = node;
  touched_.erase(name);
}

void crashing_disk::forget(const std::string& name) {
  const std::lock_guard hold(mutex_);
  names_.erase(name);
  synced_names_.erase(name);
  touched_.erase(name);
}

std::vector<std::string> crashing_disk::names() const {
  const std::lock_guard hold(mutex_);
  std::vector<std::string> all;
  for (const auto& [name, node] : names_) all.push_back(name);
  return all;
}

}  // namespace holdfast::tests
