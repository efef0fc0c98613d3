#include "engines/redlock/holder.hpp"

#include "engines/redlock/commands.hpp"
#include "engines/redlock/gathering.hpp"
#include "engines/redlock/replies.hpp"
#include "engines/redlock/session_records.hpp"

#include <map>
#include <optional>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

/// First the size of the key's value, at all nodes, then the value, then the record of the session
/// in it. A gathering calls one at a time, and so nothing here needs a mutex.
class finding : public std::enable_shared_from_this<finding> {
 public:
  using on_found = std::function<void(std::shared_ptr<const core::session_record>)>;

  finding(std::shared_ptr<cluster> c, const session_id& own, time_point deadline, on_found done)
      : cluster_(std::move(c)), own_(own), deadline_(deadline), done_(std::move(done)) {}

  void start(const std::string& name) {
    std::string bytes;
    commands::size(bytes, name);
    ask(
        cluster_->connected(), std::move(bytes),
        [self = shared_from_this()](node_index i, const io::redis_answer& a) {
          if (a.reply != nullptr && replies::may_name_holder(*a.reply)) self->fitting_.add(i);
          return self->fitting_.size() >= self->cluster_->majority();
        },
        [self = shared_from_this(), name] { self->ask_for_value(name); });
  }

 private:
  using on_answer = std::function<bool(node_index, const io::redis_answer&)>;
  void ask(node_set whom, std::string bytes, on_answer each, std::function<void()> done) {
    gathering::ask(cluster_, {.to = whom,
                              .limit = deadline_ - clock::now(),
                              .bytes = [b = std::move(bytes)](node_index) { return b; },
                              .each = std::move(each),
                              .done = std::move(done)});
  }

  void ask_for_value(const std::string& name) {
    if (fitting_.size() < cluster_->majority()) return done_(nullptr);
    std::string bytes;
    commands::value(bytes, name);
    ask(
        fitting_, std::move(bytes),
        [self = shared_from_this()](node_index, const io::redis_answer& a) {
          return a.reply != nullptr && self->count(replies::holder(*a.reply));
        },
        [self = shared_from_this()] { self->ask_for_record(); });
  }

  /// True when it is certain.
  bool count(const std::optional<session_id>& id) {
    if (!id || ++votes_[*id] < cluster_->majority()) return false;
    found_ = id;
    return true;
  }

  void ask_for_record() {
    if (!found_ || *found_ == own_) return done_(nullptr);
    std::string bytes;
    commands::session(bytes, *found_);
    ask(
        cluster_->connected(), std::move(bytes),
        [self = shared_from_this()](node_index, const io::redis_answer& a) {
          return a.reply != nullptr && self->note(replies::session(*a.reply));
        },
        [self = shared_from_this()] { self->done_(self->record()); });
  }

  bool note(const reading<session_fields>& got) {
    if (got && !got->all.empty()) add_record(records_, *found_, *got);
    return record() != nullptr;
  }

  /// One that was denied where nobody had opened it says nothing of its owner.
  std::shared_ptr<const core::session_record> record() const {
    const auto at = records_.find(*found_);
    if (at == records_.end() || at->second.owner.host.empty()) return nullptr;
    return std::make_shared<const core::session_record>(at->second);
  }

  const std::shared_ptr<cluster> cluster_;
  const session_id own_;
  const time_point deadline_;
  const on_found done_;
  node_set fitting_;  ///< Whose value has the right size.
  std::map<session_id, std::size_t> votes_;
  std::optional<session_id> found_;
  session_records records_;
};

}  // namespace

void find_holder(const std::shared_ptr<cluster>& c, const std::string& name, const session_id& own,
                 duration limit,
                 std::function<void(std::shared_ptr<const core::session_record>)> done) {
  std::make_shared<finding>(c, own, clock::now() + limit, std::move(done))->start(name);
}

}  // namespace holdfast::engines::redlock
