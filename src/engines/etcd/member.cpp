#include "engines/etcd/member.hpp"

#include "engines/etcd/refusal.hpp"
#include "io/file/password_file.hpp"
#include "io/thread/loop.hpp"
#include "wire/etcd_replies.hpp"
#include "wire/etcd_requests.hpp"

#include <charconv>
#include <utility>

namespace holdfast::engines::etcd {

namespace {

using namespace std::chrono_literals;

constexpr duration ask_again_after = 1s;

constexpr const char* not_yet =
    "it is a learner, which takes no requests until it is promoted (etcdctl member promote)";

}  // namespace

bool is_supported(std::string_view version) noexcept {
  unsigned major = 0;
  unsigned minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, bad] = std::from_chars(version.data(), end, major);
  if (bad != std::errc() || dot == end || *dot != '.') return false;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return false;
  return major > 3 || (major == 3 && minor >= 4);
}

member::member(std::size_t index, const settings& set, std::weak_ptr<listener> its_listener)
    : index_(index), set_(set), listener_(std::move(its_listener)) {}

void member::start(const std::shared_ptr<io::loop>& l) {
  loop_ = l;
  io::grpc_options o;
  o.address = set_.servers[index_];
  o.kind = "etcd server";
  o.tls = set_.tls;
  o.silence_max = 2 * set_.node_timeout;
  line_ = io::grpc_connection::start(l, std::move(o), weak_from_this());
}

void member::close() {
  if (line_) line_->close();
  loop_.reset();
}

std::string member::trouble() const {
  if (in_use()) return {};
  if (ready_ && !foreign_) return without_epoch();
  if (!trouble_.empty()) return trouble_;
  if (!connected_) {
    return "etcd server " + name() +
           ": not connected yet; if that lasts, it hangs, is no etcd, or a firewall drops what is "
           "sent to it";
  }
  if (set_.user.empty()) return "etcd server " + name() + ": it has not told its version yet";
  return "etcd server " + name() + ": logging in as '" + set_.user + "' is not answered yet" +
         slow_login_advice(set_);
}

std::string member::without_epoch() const {
  return "etcd server " + name() + " answers, but has not told the cluster epoch: has it a leader?";
}

void member::call(std::string_view path, std::string_view message, time_point deadline,
                  io::grpc_connection::on_outcome done) {
  line_->call({.path = path, .message = message, .token = token_}, deadline, std::move(done));
}

std::uint64_t member::open_stream(std::string_view path, std::string_view first,
                                  io::grpc_connection::on_message took,
                                  io::grpc_connection::on_outcome ended) {
  return line_->open_stream({.path = path, .message = first, .token = token_}, true,
                            std::move(took), std::move(ended));
}

void member::up() {
  connected_ = true;
  failed_at_.reset();
  barred_ = false;
  // A login that was put off belongs to the connection before.
  if (loop_) loop_->cancel(timer_);
  log_in();
}

void member::down(const error& why) {
  trouble_ = why.message();
  token_.clear();
  proven_ = foreign_ = false;
  const bool served = std::exchange(connected_, false);
  const bool was_ready = std::exchange(ready_, false);
  failed_at_.reset();
  barred_ = why.needs_operator();
  // One that served may be restarting, and one that was silent may come: neither tells that the
  // next try fails.
  if (!served && why != errc::timed_out) failed_at_ = clock::now();
  const auto o = listener_.lock();
  if (was_ready && o) o->went_down(index_);
  if (failed_at_ && o) o->failed();
}

void member::refuse(std::string why, refusal how) {
  foreign_ = how == refusal::foreign;
  was_foreign_ = was_foreign_ || foreign_;
  barred_ = how == refusal::for_good;
  failed_at_.reset();
  if (barred_) failed_at_ = clock::now();
  trouble_ = "etcd server " + name() + ": " + std::move(why);
  const bool was_ready = std::exchange(ready_, false);
  if (loop_) {
    // One at a time: each that asks again may be refused again.
    loop_->cancel(timer_);
    timer_ = loop_->at(clock::now() + ask_again_after, [self = weak_from_this()] {
      const auto m = self.lock();
      if (m && m->connected_ && !m->ready_) m->log_in();
    });
  }
  const auto o = listener_.lock();
  if (was_ready && o) o->went_down(index_);
  if (failed_at_ && o) o->failed();
}

void member::log_in_again() {
  if (!std::exchange(ready_, false)) return;
  trouble_ = "etcd server " + name() + ": its token of authentication has expired";
  token_.clear();
  log_in();
}

// One at a time: a second one would take the first one's token away, and calls go without.
void member::log_in() {
  if (std::exchange(logging_in_, true)) return;
  if (set_.user.empty()) return ask_version();
  token_.clear();
  // The file is read for each login: it may be replaced under a running program.
  const auto message = wire::etcd::encode_authenticate(
      set_.user, io::password_again(set_.password_file, set_.password));
  call(wire::etcd::authenticate_path, message, clock::now() + set_.node_timeout,
       [self = weak_from_this()](const io::grpc_outcome& o) {
         const auto m = self.lock();
         if (!m) return;
         m->logging_in_ = false;
         if (!m->connected_) return;
         const auto token = o.succeeded() ? wire::etcd::decode_authenticate(o.message)
                                          : std::optional<std::string_view>();
         if (!token) {
           if (is_learner(o.text)) return m->refuse(not_yet);
           return m->refuse(login_trouble(o, m->set_),
                            is_shut_out(o, m->set_) ? refusal::for_good : refusal::passing);
         }
         m->token_ = *token;
         m->logging_in_ = true;
         m->ask_version();
       });
}

void member::ask_version() {
  call(wire::etcd::status_path, {}, clock::now() + set_.node_timeout,
       [self = weak_from_this()](const io::grpc_outcome& o) {
         const auto m = self.lock();
         if (!m) return;
         m->logging_in_ = false;
         if (m->connected_) m->took_status(o);
       });
}

void member::took_status(const io::grpc_outcome& o) {
  if (!o.succeeded()) return refuse("it does not tell its version: " + std::string(o.text));
  const auto status = wire::etcd::decode_status(o.message);
  if (!status || status->version.empty()) return refuse("it told its version in no known form");
  version_ = status->version.substr(0, 64);
  if (!is_supported(version_)) {
    return refuse("its version is " + version_ + "; 3.4 and later are supported",
                  refusal::for_good);
  }
  if (status->learner) return refuse(not_yet);
  cluster_ = status->head.cluster;
  failed_at_.reset();
  barred_ = false;
  ready_ = true;
  ++logins_;
  if (const auto l = listener_.lock()) l->came_up(index_);
}

}  // namespace holdfast::engines::etcd
