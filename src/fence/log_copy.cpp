#include "fence/log_names.hpp"
#include "fence/log_seal.hpp"
#include "fence/record_cursor.hpp"
#include "io/file/files.hpp"

#include <cerrno>

namespace holdfast::fencing {
namespace {

/// Written from this size on.
constexpr std::size_t batch_bytes = std::size_t{1} << 20;

class copier {
 public:
  copier(std::shared_ptr<io::folder_file> file, std::string path, const sealed_segment& made)
      : file_(std::move(file)), path_(std::move(path)), made_(made) {}

  result<void> add(std::span<const std::byte> payload) {
    encode_record(batch_, payload, made_.id, made_.end());
    ++made_.records;
    return batch_.size() < batch_bytes ? result<void>() : flush();
  }
  result<void> flush() {
    if (auto put = io::write_fully(*file_, batch_, made_.bytes, path_); !put) return put;
    made_.bytes += batch_.size();
    batch_.clear();
    return {};
  }
  const sealed_segment& made() const { return made_; }

 private:
  std::shared_ptr<io::folder_file> file_;
  std::string path_;
  sealed_segment made_;
  std::vector<std::byte> batch_;
};

result<void> copy_one(const log_directory& log, const sealed_segment& from, copier& to) {
  const std::string path = log.files().at(segment_name(from.id));
  int code = 0;
  std::shared_ptr<io::folder_file> file =
      log.files().open(segment_name(from.id), io::opening::read, code);
  if (!file) return io::file_failure("open", path, code);
  record_cursor at(std::move(file), path, from.id, from.first);
  while (at.at().records < from.records) {
    const auto step = at.look(from.bytes);
    if (!step) return step.error();
    if (*step != record_cursor::step::record) {
      return error(errc::damaged, path + " is damaged at byte " + std::to_string(at.at().bytes) +
                                      ", record " + std::to_string(at.number()) +
                                      "; restore it from a copy");
    }
    if (auto added = to.add(at.payload()); !added) return added;
    at.pass();
  }
  return {};
}

}  // namespace

result<sealed_segment> copy_segments(const log_directory& log,
                                     const std::vector<sealed_segment>& from,
                                     const segment_id& to) {
  const std::string name = segment_name(to);
  // The name has our own epoch in it: what is there was left by a try that failed, or before a
  // power loss.
  (void)log.files().unlink(name);
  int code = 0;
  std::shared_ptr<io::folder_file> file = log.files().open(name, io::opening::create, code);
  if (!file) return io::file_failure("create", log.files().at(name), code);
  copier into(file, log.files().at(name), {.id = to, .first = from.front().first});
  result<void> done;
  for (const auto& one : from) {
    if (done) done = copy_one(log, one, into);
  }
  if (done) done = into.flush();
  if (done) {
    if (const auto synced = file->sync(); !synced) {
      done = io::file_failure("sync", log.files().at(name), synced.code);
    }
  }
  // Its name has to be on the disk before a version that needs it.
  if (done) {
    if (const auto synced = log.files().sync(); !synced) {
      done = io::file_failure("sync", log.files().path(), synced.code);
    }
  }
  if (done) return into.made();
  (void)log.files().unlink(name);
  return done.error();
}

}  // namespace holdfast::fencing
