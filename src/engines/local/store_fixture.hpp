#pragma once

#include "engines/local/open.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>

namespace holdfast::engines::local {

inline result<opened_store> open_at(const std::string& path, const std::string& query = {}) {
  auto url = core::store_url::parse("local:" + path + (query.empty() ? "" : "?" + query));
  if (!url) return url.error();
  return open_local(*url);
}

/// Asks an engine; it answers before it returns.
template <class Reply, class Ask>
Reply answer_of(Ask&& ask) {
  std::optional<Reply> got;
  ask([&](Reply r) { got = std::move(r); });
  if (!got) {
    ADD_FAILURE() << "no answer before the call returned";
    return {};
  }
  return *got;
}

/// One session on one engine.
class caller {
 public:
  caller(std::shared_ptr<core::engine> e, std::uint64_t id) : engine_(std::move(e)) {
    for (std::size_t i = 0; i < 8; ++i) id_.bytes[i] = static_cast<std::uint8_t>(id >> (8 * i));
  }

  core::open_reply open(const core::life_place& where = {}) {
    core::open_request r;
    r.draft.id = id_;
    r.draft.where = where;
    r.draft.ttl = std::chrono::seconds{30};
    auto reply = answer_of<core::open_reply>([&](auto done) { engine_->open(r, done); });
    inc_ = reply.at.inc;
    gate_ = reply.gate;
    return reply;
  }
  core::queue_view enqueue(const std::string& name, mode how = mode::exclusive(),
                           bool leave_if_busy = false) {
    core::enqueue_request r;
    r.name = lock_name(name);
    r.id = id_;
    r.inc = inc_;
    r.gate = gate_;
    r.request = ++request_;
    r.how = how;
    r.leave_if_busy = leave_if_busy;
    return answer_of<core::queue_view>([&](auto done) { engine_->enqueue(r, done); });
  }
  core::leave_reply leave(const std::string& name, token order) {
    core::leave_request r;
    r.name = lock_name(name);
    r.id = id_;
    r.inc = inc_;
    r.order = order;
    return answer_of<core::leave_reply>([&](auto done) { engine_->leave(r, done); });
  }
  core::queue_view confirm(const std::string& name, token order) {
    const core::confirm_request r{lock_name(name), id_, inc_, order};
    return answer_of<core::queue_view>([&](auto done) { engine_->confirm(r, done); });
  }
  core::beat_reply beat() {
    const core::beat_request r{id_, inc_, ++request_};
    return answer_of<core::beat_reply>([&](auto done) { engine_->beat(r, done); });
  }
  core::reply close() {
    const core::close_request r{id_, inc_};
    return answer_of<core::reply>([&](auto done) { engine_->close(r, done); });
  }
  core::deny_reply deny() {
    const core::deny_request r{id_, "an operator", "a test"};
    return answer_of<core::deny_reply>([&](auto done) { engine_->deny(r, done); });
  }
  core::glance_reply glance() {
    core::glance_request r;
    r.whom.push_back(id_);
    return answer_of<core::glance_reply>([&](auto done) { engine_->glance(r, done); });
  }
  core::listing list() {
    return answer_of<core::listing>([&](auto done) { engine_->list(done); });
  }
  std::unique_ptr<core::watch_handle> watch(const std::string& name, const core::queue_view& v,
                                            std::function<void()> notify) {
    return engine_->watch({lock_name(name), v.mine, v.targets}, std::move(notify));
  }
  session_id id() const { return id_; }

 private:
  std::shared_ptr<core::engine> engine_;
  session_id id_{};
  std::uint64_t inc_{};
  std::uint64_t gate_{};
  std::uint64_t request_{};
};

/// A directory for stores, and its files.
class store_test : public testing::Test {
 protected:
  std::string root() const { return root_.path(); }
  std::string path() const { return root() + "/store"; }
  std::string file(const std::string& name) const { return path() + "/" + name; }
  opened_store open() const {
    auto o = open_at(path());
    if (!o) ADD_FAILURE() << o.error().message();
    return o ? std::move(*o) : opened_store{};
  }
  static std::string read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  static void write(const std::string& file, const std::string& text) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  }
  /// Runs `body` in a child and gives its exit code; 128 + n for a signal.
  static int in_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    return code_of(child);
  }
  static int code_of(pid_t child) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void expect_refused(errc code, const std::string& words) const {
    auto o = open_at(path());
    ASSERT_FALSE(o) << "expected: " << words;
    EXPECT_EQ(o.error(), code) << o.error().message();
    EXPECT_NE(o.error().message().find(words), std::string::npos) << o.error().message();
  }

 private:
  tests::temporary_directory root_;
};

}  // namespace holdfast::engines::local
