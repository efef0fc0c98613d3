#include "engines/etcd/refusal.hpp"

#include <holdfast/duration.hpp>

/// etcd has few gRPC codes for many errors, so that most are told apart by their texts, which are
/// those of etcdserver/api/v3rpc/rpctypes. What is not known here may have been done.

namespace holdfast::engines::etcd {

namespace {

using core::status;
using kind = io::grpc_outcome::kind;

bool has(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool is_full(std::string_view text) noexcept { return has(text, "database space exceeded"); }

bool is_learner(std::string_view text) noexcept { return has(text, "not supported for learner"); }

bool lags(std::string_view text) noexcept { return has(text, "too many requests"); }

// etcdserver/v3_server.go, api/v3rpc/key.go and interceptor.go.
bool is_refused_by_one(unsigned code, std::string_view text) noexcept {
  return code == grpc_status::unimplemented || lags(text) || has(text, "request is too large") ||
         has(text, "too many operations") || is_learner(text);
}

bool is_logged_out(unsigned code, std::string_view text) noexcept {
  return code == grpc_status::unauthenticated || has(text, "invalid auth token") ||
         has(text, "revision of auth store is old");
}

// etcdserver/api/v3rpc/rpctypes. A call of a user without a token says nothing of that user.
bool is_shut_out(const io::grpc_outcome& o, const settings& set) noexcept {
  if (o.what != kind::answered) return false;
  return o.status == grpc_status::permission_denied || has(o.text, "authentication failed") ||
         has(o.text, "authentication is not enabled") ||
         (set.user.empty() && has(o.text, "user name is empty"));
}

bool needs_operator(const io::grpc_outcome& o, const settings& set) noexcept {
  return is_shut_out(o, set) || (o.what == kind::answered && is_full(o.text));
}

std::string advice(unsigned code, std::string_view text, const settings& set) {
  if (is_full(text)) {
    return "; it takes no writes until its history is compacted and defragmented and its NOSPACE "
           "alarm is disarmed: set --auto-compaction-mode=periodic "
           "--auto-compaction-retention=5m (holdfast doctor)";
  }
  if (code == grpc_status::permission_denied) {
    const std::string who =
        set.user.empty() ? "the URL names no user, so etcd takes the name (CN) of the certificate "
                           "(cert=) for one, who"
                         : "user '" + set.user + "'";
    return "; " + who + " needs a role that may read and write the prefix '" + set.prefix + "'";
  }
  if (has(text, "user name is empty")) {
    return "; authentication is enabled: name a user, etcd://USER@host?password_file=";
  }
  if (code == grpc_status::unimplemented) return "; is it etcd, 3.4 or later?";
  if (lags(text)) return "; it is overloaded";
  if (has(text, "request timed out") || has(text, "no leader")) return "; has it a leader?";
  return {};
}

// Errors of the apply phase and of the checks before it promise that nothing was done, but for want
// of space: txn_result::full. Everything else, time-outs and lost leaders most of all, may still be
// done: etcdserver/api/v3rpc/rpctypes.
status judge(unsigned code, std::string_view text) noexcept {
  switch (code) {
    case grpc_status::invalid_argument:
    case grpc_status::permission_denied:
    case grpc_status::unimplemented:
    case grpc_status::unauthenticated:
    case grpc_status::failed_precondition:
    case grpc_status::out_of_range:
      return status::unavailable;
    case grpc_status::resource_exhausted:
      // Also gRPC's own word for an answer that was too long, after the work was done.
      return has(text, "etcdserver:") ? status::unavailable : status::unknown;
    default:
      return status::unknown;
  }
}

std::string slow_login_advice(const settings& set) {
  return "; it is slow, or hangs: a login counts within node_timeout, which is " +
         print_duration(set.node_timeout) + "; a larger one may help";
}

std::string login_trouble(const io::grpc_outcome& o, const settings& set) {
  std::string text = "logging in as '" + set.user + "' failed: ";
  if (o.succeeded()) return text + "it gave no token";
  text += o.text;
  if (o.what != kind::answered || o.status == grpc_status::deadline_exceeded) {
    return text + slow_login_advice(set);
  }
  if (is_shut_out(o, set)) {
    return text + "; check user and password, and that authentication is enabled";
  }
  return text + advice(o.status, o.text, set);
}

}  // namespace holdfast::engines::etcd
