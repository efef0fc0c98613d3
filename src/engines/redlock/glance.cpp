#include "engines/redlock/glance.hpp"

#include "core/replies.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/gathering.hpp"
#include "engines/redlock/node_troubles.hpp"
#include "engines/redlock/replies.hpp"
#include "engines/redlock/session_records.hpp"
#include "io/thread/mutex.hpp"

#include <string>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using core::status;

/// Several sessions, each asked for at all nodes.
class looking : public std::enable_shared_from_this<looking> {
 public:
  looking(std::shared_ptr<cluster> c, core::on<core::glance_reply> done)
      : cluster_(std::move(c)), done_(std::move(done)) {
    reply_.what = status::ok;
  }

  void start(const std::vector<session_id>& whom) {
    {
      const io::held_mutex hold(mutex_);
      left_ = whom.size();
    }
    if (whom.empty()) return finish();
    for (const session_id& id : whom) ask(id);
  }

 private:
  struct one {
    node_set answered{};
    node_troubles troubles{};
    session_records seen{};
  };

  void ask(const session_id& id) {
    const auto of = std::make_shared<one>();
    gathering::question q;
    q.to = cluster_->connected();
    q.limit = inquiry_limit;
    q.bytes = [id](node_index) {
      std::string bytes;
      commands::session(bytes, id);
      return bytes;
    };
    q.each = [self = shared_from_this(), of, id](node_index i, const io::redis_answer& a) {
      return self->read(*of, id, i, a);
    };
    q.done = [self = shared_from_this(), of] { self->answered(*of); };
    gathering::ask(cluster_, std::move(q));
  }

  /// True when no further answer is needed.
  bool read(one& of, const session_id& id, node_index i, const io::redis_answer& a) const {
    const reading<session_fields> got =
        a.reply == nullptr ? fault::silent : replies::session(*a.reply);
    if (got) {
      if (!got->all.empty()) add_record(of.seen, id, *got);
      // What a node that lost its state does not know may be so all the same.
      if (keepers_.has(i)) of.answered.add(i);
      return of.answered.size() >= cluster_->majority();
    }
    of.troubles.note(*cluster_, i, got.why(), a);
    return false;
  }

  void answered(const one& of) {
    {
      const io::held_mutex hold(mutex_);
      bool is_known = false;
      for (const auto& [id, record] : of.seen) {
        // A denial alone has no ttl of its own.
        if (record.ttl == duration::zero()) continue;
        reply_.there.push_back(record);
        is_known = true;
      }
      if (!is_known && of.answered.size() < cluster_->majority()) {
        of.troubles.explain(reply_, *cluster_, of.answered.size(), "that keep their state told",
                            cluster_->verdict());
      }
      if (--left_ > 0) return;
    }
    finish();
  }

  void finish() {
    core::glance_reply all;
    {
      const io::held_mutex hold(mutex_);
      all = std::move(reply_);
    }
    done_(std::move(all));
  }

  const std::shared_ptr<cluster> cluster_;
  const node_set keepers_{cluster_->now_voting()->keepers};
  const core::on<core::glance_reply> done_;
  io::mutex mutex_;
  core::glance_reply reply_ HOLDFAST_GUARDED_BY(mutex_){};
  std::size_t left_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace

void glance(const std::shared_ptr<cluster>& c, const core::glance_request& r,
            core::on<core::glance_reply> done) {
  if (!c->set().tokens) {
    return done(core::reply_with<core::glance_reply>(status::unsupported,
                                                     "with tokens=off the nodes keep no sessions"));
  }
  c->when_ready(clock::now() + inquiry_limit, [c, whom = r.whom, done = std::move(done)]() mutable {
    std::make_shared<looking>(c, std::move(done))->start(whom);
  });
}

}  // namespace holdfast::engines::redlock
