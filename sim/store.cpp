#include "sim/store.hpp"

#include <algorithm>

namespace holdfast::sim {

using core::status;

store::store(context& c, int index, bool compares_beats)
    : context_(c), index_(index), compares_beats_(compares_beats) {}

core::open_reply store::serve(const core::open_request& r) { return table_.open(r); }

beat_answer store::serve(const beat_message& m) {
  own_write& own = beats_[m.session];
  if (compares_beats_ && m.expected != own.written && wrote_earlier(m)) {
    beat_answer found;  // Not written: what is there is an earlier write of this very session.
    found.what = status::ok;
    found.proves = own.attempt;
    found.written = own.written;
    return found;
  }
  beat_answer done;
  static_cast<core::beat_reply&>(done) = table_.beat(m.request);
  if (done.what == status::ok) own = {own.written + 1, m.request.attempt};
  done.written = own.written;
  return done;
}

bool store::wrote_earlier(const beat_message& m) const {
  const auto all = table_.list().sessions;
  return std::ranges::any_of(all, [&m](const core::session_record& r) {
    return r.id == m.request.id && r.at.inc == m.request.inc && !r.at.denied;
  });
}

core::reply store::serve(const core::close_request& r) {
  auto out = table_.close(r);
  wake_watchers();
  return out;
}

core::queue_view store::serve(const core::enqueue_request& r) {
  auto v = table_.enqueue(r);
  context_.log.note(context_.time.now(), "store appends order, request", -1,
                    static_cast<std::int64_t>(v.mine.value), static_cast<std::int64_t>(r.request));
  return perhaps_stale(std::move(v));
}

core::leave_reply store::serve(const core::leave_request& r) {
  auto out = table_.leave(r);
  wake_watchers();
  return out;
}

core::queue_view store::serve(const core::confirm_request& r) {
  return perhaps_stale(table_.confirm(r));
}

core::take_reply store::serve(const core::take_request& r) {
  auto out = table_.take(r);
  if (out.what == status::ok) {
    context_.log.note(context_.time.now(), "record taken, inc", -1,
                      static_cast<std::int64_t>(r.seen.inc),
                      static_cast<std::int64_t>(r.seen.beat));
  }
  wake_watchers();
  return out;
}

core::deny_reply store::serve(const deny_message& m) {
  auto out = table_.deny(m.request);
  auto& truth = context_.sessions[static_cast<std::size_t>(m.session)];
  if (out.what == status::ok && !truth.denied_at) {
    truth.denied_at = context_.time.now();
    context_.log.note(context_.time.now(), "denied", m.session);
  }
  return out;
}

core::glance_reply store::serve(const core::glance_request& r) { return table_.glance(r); }

core::reply store::serve(const watch_message& m) {
  std::erase_if(watches_, [&m](const watch_message& o) {
    return !o.from.valid() || (o.from.who == m.from.who && o.from.counter == m.from.counter);
  });
  watches_.push_back(m);
  wake_watchers();  // What changed since the view that named the targets is not missed.
  return {.what = status::ok};
}

void store::fall_silent(duration how_long) {
  context_.log.note(context_.time.now(), "store falls silent", -1, index_);
  silent_until_ = std::max(silent_until_, context_.time.now() + how_long);
  watches_.clear();
}

void store::wake_watchers() {
  std::erase_if(watches_, [this](const watch_message& m) {
    const bool quiet = std::ranges::all_of(
        m.request.targets, [&](token t) { return table_.alive(m.request.name, t); });
    if (!quiet) wake(m);
    return !quiet;
  });
}

void store::wake(const watch_message& m) {
  if (context_.mishap(context_.setup.lost)) return;
  const auto& s = context_.setup;
  const auto delay = context_.dice.between(s.latency_least, s.latency_most);
  m.from.who->post(context_.time.now() + delay, m.from, m.notify);
}

core::queue_view store::perhaps_stale(core::queue_view v) {
  const bool stale = context_.mishap(context_.setup.stale);
  for (core::rival& r : v.ahead) {
    seen_versions& h = history_[r.owner];
    if (h.count == 0 || !(h.ring[(h.count - 1) % h.ring.size()] == r.at)) {
      h.ring[h.count++ % h.ring.size()] = r.at;
    }
    if (stale) r.at = h.ring[context_.dice.below(std::min(h.count, h.ring.size()))];
  }
  return v;
}

}  // namespace holdfast::sim
