#include "engines/zookeeper/leaving.hpp"

#include "core/replies.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::zookeeper {

using core::status;

namespace {

/// The last part of a path below `queue`; empty when it is not there.
std::string node_in(const std::string& queue, const std::string& path) {
  if (path.size() <= queue.size() + 1 || !path.starts_with(queue) || path[queue.size()] != '/') {
    return {};
  }
  return path.substr(queue.size() + 1);
}

std::vector<named_entry> entries_of(const queue_names& names, const session_id& id,
                                    std::uint64_t inc) {
  std::vector<named_entry> own;
  std::ranges::copy_if(names.all(), std::back_inserter(own), [&](const named_entry& e) {
    return e.what.owner == id && e.what.inc == inc;
  });
  return own;
}

}  // namespace

// ---- leaving ----

leaving::leaving(std::shared_ptr<store> s, core::leave_request r, core::on<core::leave_reply> done)
    : store_(std::move(s)),
      request_(std::move(r)),
      done_(std::move(done)),
      queue_(store_->where().queue(request_.name)) {}

void leaving::refuse(core::reply why) {
  done_(core::reply_with<core::leave_reply>(std::move(why)));
}

zoo_request leaving::gate_question() const {
  const auto path = store_->where().gate(request_.id);
  return request_.move_gate ? put(path, {}) : get(path);
}

void leaving::start() {
  store_->with_session(
      request_.id, request_.inc,
      [self = shared_from_this()](const core::session_record&) {
        const auto& r = self->request_;
        const auto path = r.order.value == 0 ? std::string() : self->store_->path_of(r.order);
        if (path.empty()) return self->find();
        const auto e = named_entry::parse(node_in(self->queue_, path));
        // Somebody else's entry is left alone.
        const bool own = e && e->what.owner == r.id && e->what.inc == r.inc;
        self->leave_node(own ? path : std::string());
      },
      [self = shared_from_this()](core::reply r) { self->refuse(std::move(r)); });
}

void leaving::leave_node(const std::string& path) {
  std::vector<zoo_request> all{gate_question()};
  if (!path.empty()) all.push_back(remove(path));
  store_->servers().send(std::move(all), repeat::never,
                         [self = shared_from_this()](const batch_result& l) {
                           if (l.what != status::ok) return self->refuse(l);
                           self->took_gate(l.replies[0]);
                           self->conclude();
                         });
}

void leaving::took_gate(const zoo_reply& gate) {
  there_ = gate.ok();
  if (there_) gate_ = gate_in(gate);
}

void leaving::conclude() {
  if (request_.order.value != 0) store_->forget(request_.id, request_.order);
  if (!there_) {
    store_->forget_session(request_.id);
    return refuse({status::gone, core::no_session_text(request_.id)});
  }
  core::leave_reply r;
  r.what = status::ok;
  r.gate = gate_;
  done_(std::move(r));
}

void leaving::find() {
  store_->servers().send({gate_question(), sync(queue_), children_of(queue_)}, repeat::never,
                         [self = shared_from_this()](const batch_result& l) {
                           if (l.what != status::ok) return self->refuse(l);
                           self->took_gate(l.replies[0]);
                           self->took_names(l);
                         });
}

void leaving::took_names(const batch_result& l) {
  const queue_names names(l.replies[2].names);
  auto own = entries_of(names, request_.id, request_.inc);
  if (request_.order.value == 0) {
    std::vector<std::string> nodes;
    for (const auto& e : own) {
      if (e.what.request == request_.request) nodes.push_back(e.node);
    }
    return remove_all(nodes);
  }
  // An order is in no node's name: it is looked for among our own.
  if (own.empty()) return conclude();
  look_at(store_, request_.name, std::move(own),
          [self = shared_from_this()](const queue_picture& p) {
            if (p.what != status::ok) return self->refuse(core::reply_as(status::unknown, p));
            const auto found = p.nodes.find(self->request_.order);
            if (found == p.nodes.end()) return self->conclude();
            self->remove_all({found->second});
          });
}

void leaving::remove_all(const std::vector<std::string>& nodes) {
  if (nodes.empty()) return conclude();
  std::vector<zoo_request> all;
  for (const auto& node : nodes) all.push_back(remove(queue_ + "/" + node));
  store_->servers().send(std::move(all), repeat::always,
                         [self = shared_from_this()](const batch_result& l) {
                           if (l.what != status::ok)
                             return self->refuse(core::reply_as(status::unknown, l));
                           self->conclude();
                         });
}

// ---- confirming ----

confirming::confirming(std::shared_ptr<store> s, core::confirm_request r,
                       core::on<core::queue_view> done)
    : store_(std::move(s)),
      request_(std::move(r)),
      done_(std::move(done)),
      queue_(store_->where().queue(request_.name)),
      mine_(request_.order) {}

void confirming::refuse(core::reply why) {
  done_(core::reply_with<core::queue_view>(std::move(why)));
}

// The session is read last: when it is there then, it was there all the time.
void confirming::start() {
  store_->servers().send(
      {sync(queue_), children_of(queue_), get(store_->where().session(request_.id))},
      repeat::always, [self = shared_from_this()](const batch_result& l) { self->took(l); });
}

void confirming::took(const batch_result& l) {
  if (l.what != status::ok) return refuse(core::reply_as(status::unavailable, l));
  if (auto verdict = judge(request_.id, request_.inc, l.replies[2]); verdict.what != status::ok) {
    store_->forget(request_.id, mine_);
    return refuse(std::move(verdict));
  }
  names_ = queue_names(l.replies[1].names);
  if (!names_.damage().empty()) {
    return refuse(damaged(queue_ + "/" + names_.damage()));
  }
  const auto path = store_->path_of(mine_);
  if (path.empty()) return find_by_order();
  const auto* mine = names_.find(node_in(queue_, path));
  if (mine == nullptr || mine->what.owner != request_.id || mine->what.inc != request_.inc) {
    return refuse({status::gone, "the entry is not there"});
  }
  judge_place(*mine);
}

void confirming::find_by_order() {
  look_at(store_, request_.name, entries_of(names_, request_.id, request_.inc),
          [self = shared_from_this()](const queue_picture& p) {
            if (p.what != status::ok) return self->refuse(p);
            const auto found = p.nodes.find(self->mine_);
            if (found == p.nodes.end()) {
              return self->refuse({status::gone, "the entry is not there"});
            }
            self->store_->keep(self->request_.id, self->mine_, self->queue_ + "/" + found->second);
            self->judge_place(*self->names_.find(found->second));
          });
}

void confirming::judge_place(const named_entry& mine) {
  auto older = names_.older_than(mine);
  if (surely_granted(older, mine.what.how)) {
    core::queue_view v;
    v.what = status::ok;
    v.mine = mine_;
    return done_(std::move(v));
  }
  look_at_older(store_, request_.name, std::move(older), mine_,
                [self = shared_from_this(), mine](const queue_picture& p) { self->view(p, mine); });
}

void confirming::view(const queue_picture& p, const named_entry& mine) {
  if (p.what != status::ok) return refuse(p);
  core::entry own = mine.what;
  own.order = mine_;
  auto v = view_of(p, own);
  store_->keep_targets(mine_, nodes_of(*store_, request_.name, p, v.targets));
  done_(std::move(v));
}

}  // namespace holdfast::engines::zookeeper
