#include "engines/zookeeper/enqueuing.hpp"

#include "core/conflict.hpp"
#include "core/queue.hpp"
#include "core/replies.hpp"
#include "engines/zookeeper/codec.hpp"
#include "io/thread/random.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

using core::status;

// Somebody else was faster so many times.
constexpr unsigned rounds_max = 64;

// The parts of making().
constexpr std::size_t the_session = 0;
constexpr std::size_t the_gate = 1;
constexpr std::size_t the_entry = 2;
constexpr std::size_t the_queue = 3;

constexpr const char* no_token = "the transaction's number does not fit into a token";

}  // namespace

enqueuing::enqueuing(std::shared_ptr<store> s, core::enqueue_request r,
                     core::on<core::queue_view> done)
    : store_(std::move(s)),
      request_(std::move(r)),
      done_(std::move(done)),
      queue_(store_->where().queue(request_.name)) {}

core::entry enqueuing::as_entry(token order) const {
  return {.order = order,
          .owner = request_.id,
          .inc = request_.inc,
          .request = request_.request,
          .how = request_.how,
          .since = request_.since};
}

zoo_request enqueuing::making(std::int32_t queue_version) const {
  const auto& where = store_->where();
  const auto nonce = static_cast<std::uint32_t>(io::random_bits());
  auto entry =
      create(where.entry(request_.name, as_entry({}), nonce), encode_entry(request_.since));
  entry.numbered = true;
  std::vector<zoo_request> parts(4);
  parts[the_session] = check(where.allowed(request_.id));
  parts[the_gate] = check(where.gate(request_.id), static_cast<std::int32_t>(request_.gate) - 1);
  parts[the_entry] = std::move(entry);
  // Its version counts the entries: so the next one sees whether anybody has come since its look.
  parts[the_queue] = put(queue_, {}, queue_version);
  return all_or_none(std::move(parts));
}

std::vector<zoo_request> enqueuing::begun(bool make_queue) const {
  std::vector<zoo_request> all;
  if (make_queue) {
    // Never a part of a multi: the library reads the answer wrongly (3.8.0).
    all.push_back({.what = zoo_request::kind::create_container, .path = queue_});
  }
  return all;
}

void enqueuing::refuse(core::reply why) {
  auto v = core::reply_with<core::queue_view>(std::move(why));
  v.gate = gate_;
  done_(std::move(v));
}

void enqueuing::answer(core::queue_view v, std::vector<std::string> targets) {
  if (v.what == status::ok || v.what == status::queued) {
    store_->keep(request_.id, v.mine, path_);
    store_->keep_targets(v.mine, std::move(targets));
  }
  done_(std::move(v));
}

void enqueuing::grant() {
  core::queue_view v;
  v.what = status::ok;
  v.mine = mine_;
  answer(std::move(v), {});
}

void enqueuing::start() {
  const auto self = shared_from_this();
  // Of another incarnation's entry a multi could not tell.
  store_->with_session(
      request_.id, request_.inc,
      [self](const core::session_record&) {
        const auto* seen = self->store_->sight_of(self->request_.name);
        self->is_new_ = self->store_->is_new(self->request_.id, self->request_.request);
        // No version is before the first one, so that a multi could not compare it.
        if (self->request_.gate == 0) return self->look_first();
        if (!self->request_.leave_if_busy || (seen != nullptr && seen->alone)) {
          return self->enter();
        }
        self->look_first();
      },
      [self](core::reply r) { self->refuse(std::move(r)); });
}

// ---- at once, and then look ----

void enqueuing::enter() {
  const auto* seen = store_->sight_of(request_.name);
  sight_ = seen != nullptr ? *seen : queue_sight{};
  // An earlier copy of the request may have an entry here already.
  sight_.shared = sight_.shared && is_new_;
  quiet_ = sight_.alone || (sight_.shared && request_.how.is_shared());
  auto all = begun(seen == nullptr);
  all.push_back(making(request_.leave_if_busy ? sight_.version : zoo_request::any_version));
  if (!quiet_) all.push_back(children_of(queue_));
  store_->servers().send(
      std::move(all), repeat::never,
      [self = shared_from_this()](batch_result l) { self->took_entry(std::move(l)); });
}

void enqueuing::took_entry(batch_result l) {
  if (l.what != status::ok) return refuse(l);
  const auto& made = l.replies[l.replies.size() - (quiet_ ? 1 : 2)];
  if (!made.ok()) {
    // Whatever it was: looking tells it exactly.
    store_->forget_sight(request_.name);
    return look_first();
  }
  const auto& queue = made.parts[the_queue].stat;
  path_ = made.parts[the_entry].data;
  mine_ = token_of(queue.modified);
  if (mine_.value == 0) return refuse({status::unknown, no_token});
  const bool alone = queue.children == 1;
  // Nobody has come since, for the next version is ours.
  const bool next = queue.created == sight_.created && queue.version == sight_.version + 1;
  const bool shared = request_.how.is_shared() && (alone || (next && sight_.shared));
  sight_ = {queue.created, queue.version, alone, shared};
  store_->keep_facts(path_, {mine_, request_.since});
  store_->keep_sight(request_.name, sight_);
  const auto room = static_cast<std::int32_t>(core::waiters_max);
  if (alone || (shared && queue.children <= room)) return grant();
  if (request_.leave_if_busy) {
    // The node was removed and made again meanwhile, and its version is another queue's.
    return withdraw([self = shared_from_this()] { self->look_first(); });
  }
  if (quiet_) return look_around();
  decide_inside(l.replies.back().names);
}

void enqueuing::look_around() {
  store_->servers().send({sync(queue_), children_of(queue_)}, repeat::always,
                         [self = shared_from_this()](const batch_result& l) {
                           if (l.what != status::ok)
                             return self->refuse(core::reply_as(status::unknown, l));
                           self->decide_inside(l.replies[1].names);
                         });
}

void enqueuing::decide_inside(const std::vector<std::string>& nodes) {
  names_ = queue_names(nodes);
  if (!names_.damage().empty()) {
    const auto r = damaged(queue_ + "/" + names_.damage());
    return withdraw([self = shared_from_this(), r] { self->refuse(r); });
  }
  const auto* mine = names_.find(path_.substr(queue_.size() + 1));
  if (mine == nullptr) return refuse({status::unknown, "the entry is not where it was made"});
  const auto* first = names_.find(request_.id, request_.inc, request_.request);
  if (first != mine) {
    // The same request was made before.
    return withdraw([self = shared_from_this()] { self->look_first(); });
  }
  sight_.shared =
      std::ranges::all_of(names_.all(), [](const auto& e) { return e.what.how.is_shared(); });
  store_->keep_sight(request_.name, sight_);
  auto older = names_.older_than(*mine);
  if (surely_granted(older, request_.how)) return grant();
  look_at_older(store_, request_.name, std::move(older), mine_,
                [self = shared_from_this()](const queue_picture& p) { self->decide_inside(p); });
}

void enqueuing::decide_inside(const queue_picture& p) {
  if (p.what != status::ok) return refuse(core::reply_as(status::unknown, p));
  // Two that do not agree may both be about to withdraw: who looks first sees what is left.
  if (used_otherwise(p, request_.how)) {
    return withdraw([self = shared_from_this()] { self->look_first(); });
  }
  if (p.live.size() >= core::waiters_max) {
    return withdraw([self = shared_from_this()] {
      self->refuse({status::too_many, core::too_many_text()});
    });
  }
  auto v = view_of(p, as_entry(mine_));
  auto targets = nodes_of(*store_, request_.name, p, v.targets);
  answer(std::move(v), std::move(targets));
}

void enqueuing::withdraw(std::function<void()> then) {
  store_->servers().send(
      {remove(path_)}, repeat::always,
      [self = shared_from_this(), then = std::move(then)](const batch_result& l) {
        if (l.what != status::ok) return self->refuse(core::reply_as(status::unknown, l));
        then();
      });
}

// ---- look, and then at once if nothing has changed ----

void enqueuing::look_first() {
  if (++rounds_ > rounds_max) {
    return refuse({status::unavailable,
                   "others were faster " + std::to_string(rounds_max) + " times in a row"});
  }
  const auto& where = store_->where();
  auto all = begun(store_->sight_of(request_.name) == nullptr);
  all.push_back(sync(queue_));
  all.push_back(children_of(queue_));
  all.push_back(get(where.session(request_.id)));
  all.push_back(get(where.gate(request_.id)));
  store_->servers().send(
      std::move(all), repeat::always,
      [self = shared_from_this()](const batch_result& l) { self->took_look(l); });
}

void enqueuing::took_look(const batch_result& l) {
  if (l.what != status::ok) return refuse(core::reply_as(status::unavailable, l));
  const auto count = l.replies.size();
  const auto& queue = l.replies[count - 3];
  const auto& session = l.replies[count - 2];
  const auto& gate = l.replies[count - 1];
  if (auto verdict = judge(request_.id, request_.inc, session); verdict.what != status::ok) {
    if (verdict.what == status::gone) store_->forget_session(request_.id);
    return refuse(std::move(verdict));
  }
  if (!queue.ok() || !gate.ok()) {
    // The container was removed for being empty, or the store's nodes are gone.
    store_->forget_sight(request_.name);
    if (count == 5 && l.replies[0].code == zoo_code::no_node) store_->servers().doubt_store();
    return look_first();
  }
  gate_ = gate_in(gate);
  sight_ = {queue.stat.created, queue.stat.version, queue.names.empty(), queue.names.empty()};
  store_->keep_sight(request_.name, sight_);
  names_ = queue_names(queue.names);
  if (!names_.damage().empty()) {
    return refuse(damaged(queue_ + "/" + names_.damage()));
  }
  if (names_.all().empty()) return decide_outside(queue_picture{});
  look_at(store_, request_.name, names_.all(),
          [self = shared_from_this()](const queue_picture& p) { self->decide_outside(p); });
}

void enqueuing::decide_outside(const queue_picture& p) {
  if (p.what != status::ok) return refuse(p);
  const auto own = std::ranges::find_if(p.live, [&](const core::entry& e) {
    return e.owner == request_.id && e.inc == request_.inc && e.request == request_.request;
  });
  if (own != p.live.end()) {
    queue_picture older = p;
    older.live.erase(older.live.begin() + (own - p.live.begin()), older.live.end());
    path_ = queue_ + "/" + p.nodes.at(own->order);
    auto v = view_of(older, *own);
    auto targets = nodes_of(*store_, request_.name, older, v.targets);
    return answer(std::move(v), std::move(targets));
  }
  // Behind the search for our own entry: the gate shuts out what comes late, and that one is there.
  if (gate_ != request_.gate) return refuse({status::stale_gate, "an earlier gate"});
  if (used_otherwise(p, request_.how)) {
    core::entry behind_all = as_entry(token_max);
    behind_all.how = mode::exclusive();
    return done_(core::conflict(view_of(p, behind_all), p.live.front().how, request_.how));
  }
  // As it would be, to know what it would be granted.
  auto v = view_of(p, as_entry(token_max));
  if (v.what == status::queued && request_.leave_if_busy) {
    v.what = status::busy;
    v.mine = {};
    v.targets.clear();
    return done_(std::move(v));
  }
  if (p.live.size() >= core::waiters_max) return refuse({status::too_many, core::too_many_text()});
  append(std::move(v), p);
}

void enqueuing::append(core::queue_view v, const queue_picture& p) {
  auto targets = nodes_of(*store_, request_.name, p, v.targets);
  std::vector<zoo_request> all;
  all.push_back(making(sight_.version));
  store_->servers().send(
      std::move(all), repeat::never,
      [self = shared_from_this(), v = std::move(v), targets](const batch_result& l) mutable {
        self->took_append(l, std::move(v), std::move(targets));
      });
}

void enqueuing::took_append(const batch_result& l, core::queue_view v,
                            std::vector<std::string> targets) {
  if (l.what != status::ok) return refuse(l);
  const auto& made = l.replies[0];
  if (!made.ok()) {
    store_->forget_sight(request_.name);
    return look_first();
  }
  const auto& queue = made.parts[the_queue].stat;
  path_ = made.parts[the_entry].data;
  mine_ = token_of(queue.modified);
  if (mine_.value == 0) return refuse({status::unknown, no_token});
  if (queue.created != sight_.created) {
    // Another queue, which happens to have the same version.
    return withdraw([self = shared_from_this()] { self->look_first(); });
  }
  store_->keep_facts(path_, {mine_, request_.since});
  store_->keep_sight(request_.name, {queue.created, queue.version, queue.children == 1, false});
  v.mine = mine_;
  answer(std::move(v), std::move(targets));
}

}  // namespace holdfast::engines::zookeeper
