#pragma once

#include "engines/etcd/settings.hpp"
#include "io/grpc/grpc_connection.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::io {
class loop;
}

namespace holdfast::engines::etcd {

/// One server of the cluster: its connection, and what is asked before it is used: who we are, its
/// version, which cluster it belongs to.
///
/// Thread safety: the loop's thread only.
class member final : public io::grpc_listener, public std::enable_shared_from_this<member> {
 public:
  class listener {
   public:
    listener() = default;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    virtual ~listener() = default;
    virtual void came_up(std::size_t index) = 0;
    virtual void went_down(std::size_t index) = 0;
    /// See failed_at().
    virtual void failed() = 0;
  };

  member(std::size_t index, const settings& set, std::weak_ptr<listener> its_listener);
  void start(const std::shared_ptr<io::loop>& l);
  void close();

  /// It may be asked whose it is.
  bool ready() const noexcept { return ready_; }
  /// On this connection it has shown that it is of the store.
  bool proven() const noexcept { return proven_; }
  bool in_use() const noexcept { return ready_ && proven_; }
  void prove() noexcept {
    proven_ = true;
    foreign_ = was_foreign_ = false;
  }
  void doubt() noexcept { proven_ = false; }
  /// It was refused as one of another cluster.
  bool foreign() const noexcept { return foreign_; }
  /// Once, and it has not been of the store since.
  bool was_foreign() const noexcept { return was_foreign_; }
  /// How often it became ready.
  std::uint64_t logins() const noexcept { return logins_; }
  /// It is in use, or it is known why not.
  bool was_tried() const noexcept { return in_use() || !trouble_.empty(); }
  /// Why it is not in use.
  std::string trouble() const;
  std::string without_epoch() const;
  /// When the last try ended so that the next one will too: nobody serves at its address, say, or
  /// it refuses us for good. None: somebody was silent, or served.
  std::optional<time_point> failed_at() const noexcept { return failed_at_; }
  /// It failed for what a person has to put right.
  bool is_barred() const noexcept { return barred_; }
  std::string name() const { return set_.servers[index_].text(); }
  std::uint64_t cluster() const noexcept { return cluster_; }
  const std::string& version() const noexcept { return version_; }
  io::grpc_connection::counters count() const { return line_->count(); }

  void call(std::string_view path, std::string_view message, time_point deadline,
            io::grpc_connection::on_outcome done);
  std::uint64_t open_stream(std::string_view path, std::string_view first,
                            io::grpc_connection::on_message took,
                            io::grpc_connection::on_outcome ended);
  void send(std::uint64_t stream, std::string_view message) { line_->send(stream, message); }
  void cancel(std::uint64_t stream) { line_->cancel(stream); }

  /// Its token is not accepted any more.
  void log_in_again();
  enum class refusal : std::uint8_t {
    passing,   ///< It may be another answer the next time.
    foreign,   ///< It is of another cluster.
    for_good,  ///< Until a person has acted.
  };
  /// It cannot be used for now, because of `why`; asked again soon.
  void refuse(std::string why, refusal how = refusal::passing);

  void up() override;
  void down(const error& why) override;

 private:
  /// First of all on a connection, and again when the token has expired. Nothing while one is under
  /// way.
  void log_in();
  /// Also which cluster it is of, and whether it is a learner.
  void ask_version();
  /// It is ready, or refused.
  void took_status(const io::grpc_outcome& o);

  const std::size_t index_;
  const settings& set_;
  const std::weak_ptr<listener> listener_;
  std::unique_ptr<io::grpc_connection> line_;
  std::shared_ptr<io::loop> loop_;
  std::string token_;
  std::string version_;
  std::uint64_t cluster_{};
  std::string trouble_;  ///< Empty: nothing is known yet.
  std::optional<time_point> failed_at_;
  bool barred_{};
  std::uint64_t timer_{};
  bool connected_{};
  bool logging_in_{};  ///< Or asking for the version.
  bool ready_{};
  bool proven_{};
  bool foreign_{};
  bool was_foreign_{};
  std::uint64_t logins_{};
};

/// False for a version that lacks what is used here (nested transactions, comparisons of ranges).
bool is_supported(std::string_view version) noexcept;

}  // namespace holdfast::engines::etcd
