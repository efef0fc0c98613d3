#include "cli/audit_log.hpp"

#include "cli/json_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>

namespace holdfast::cli {

namespace {

error failed(const char* what, const std::string& path) {
  return {errc::unavailable, std::string("cannot ") + what + " the audit log " + path + ": " +
                                 std::generic_category().message(errno) +
                                 "; choose another with --audit FILE"};
}

}  // namespace

std::string audit_log::usual_path() {
  if (::geteuid() == 0) return "/var/log/holdfast-audit.log";
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/holdfast-audit.log";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : "") + "/.local/state/holdfast-audit.log";
}

result<audit_log> audit_log::open(const std::string& path) {
  descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                         S_IRUSR | S_IWUSR));
  if (!file) return failed("open", path);
  return audit_log(std::move(file), path);
}

result<void> audit_log::append(nlohmann::ordered_json entry) {
  entry["time"] =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string line = json_line(entry);
  if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return failed("append to", path_);
  }
  if (::fdatasync(file_.get()) != 0 && errno != EINVAL) return failed("sync", path_);
  return {};
}

}  // namespace holdfast::cli
