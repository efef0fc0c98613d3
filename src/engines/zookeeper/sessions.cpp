#include "engines/zookeeper/sessions.hpp"

#include "core/replies.hpp"
#include "engines/zookeeper/codec.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

using core::reply_with;
using core::status;

// Beats came in between so many times.
constexpr unsigned tries_max = 64;

core::reply no_session(const session_id& id) { return {status::gone, core::no_session_text(id)}; }

std::vector<zoo_request> one(zoo_request r) {
  std::vector<zoo_request> all;
  all.push_back(std::move(r));
  return all;
}

/// The nodes below a record that are there.
struct nodes_below {
  bool allowed{true};
  bool gate{true};
};

/// The whole record, if it is still at this version.
zoo_request removal(const paths& where, const session_id& id, const nodes_below& below,
                    std::int32_t version = zoo_request::any_version) {
  std::vector<zoo_request> parts;
  if (below.allowed) parts.push_back(remove(where.allowed(id)));
  if (below.gate) parts.push_back(remove(where.gate(id)));
  parts.push_back(remove(where.session(id), version));
  return all_or_none(std::move(parts));
}

core::open_reply opened_reply(const std::shared_ptr<store>& s, const core::session_record& draft,
                              const batch_result& l) {
  if (!l.replies[0].ok() && l.replies[0].code != zoo_code::node_exists) {
    s->servers().doubt_store();
    return reply_with<core::open_reply>(status::unavailable,
                                        "the store's own nodes are not there; they are made again");
  }
  const auto record = record_in(draft.id, l.replies[1]);
  if (!record) {
    return reply_with<core::open_reply>(l.replies[1].ok() ? damaged("s/" + draft.id.str())
                                                          : no_session(draft.id));
  }
  if (record->at.denied) {
    return reply_with<core::open_reply>(status::denied, core::denial_text(*record));
  }
  s->keep_session(*record);
  s->opened();
  auto reply = reply_with<core::open_reply>(status::ok);
  reply.at = record->at;
  reply.gate = gate_in(l.replies[2]);
  return reply;
}

}  // namespace

void open_session(const std::shared_ptr<store>& s, const core::session_record& draft,
                  core::on<core::open_reply> done) {
  const auto& where = s->where();
  std::vector<zoo_request> parts{create(where.session(draft.id), encode(draft)),
                                 create(where.allowed(draft.id)), create(where.gate(draft.id))};
  // Read in the same batch: the numbers that the record was given, now or by an earlier try.
  std::vector<zoo_request> all{all_or_none(std::move(parts)), get(where.session(draft.id)),
                               get(where.gate(draft.id))};
  s->servers().send(std::move(all), repeat::never, [s, draft, done](const batch_result& l) {
    done(l.what == status::ok ? opened_reply(s, draft, l) : reply_with<core::open_reply>(l));
  });
}

void beat_session(const std::shared_ptr<store>& s, const core::beat_request& r,
                  core::on<core::beat_reply> done) {
  const auto send = [s, r, done](const core::session_record& record) {
    const auto& where = s->where();
    // No version is compared: the node is never made again, so it is of this incarnation, or gone.
    std::vector<zoo_request> parts{check(where.allowed(r.id)),
                                   put(where.session(r.id), encode(record))};
    s->servers().send(one(all_or_none(std::move(parts))), repeat::never,
                      [s, r, done](const batch_result& l) {
                        if (l.what != status::ok) return done(reply_with<core::beat_reply>(l));
                        if (l.replies[0].ok()) {
                          auto reply = reply_with<core::beat_reply>(status::ok);
                          reply.proves = r.attempt;
                          return done(std::move(reply));
                        }
                        s->refusal(r.id, r.inc, [done](core::reply why) {
                          if (why.what == status::ok) why.what = status::unavailable;
                          done(reply_with<core::beat_reply>(std::move(why)));
                        });
                      });
  };
  s->with_session(
      r.id, r.inc,
      [done, send](const core::session_record& record) {
        // Only asked for just now, and then with what it says.
        if (record.at.denied) {
          return done(reply_with<core::beat_reply>(status::denied, core::denial_text(record)));
        }
        send(record);
      },
      [done](core::reply why) { done(reply_with<core::beat_reply>(std::move(why))); });
}

namespace {

void closed(const std::shared_ptr<store>& s, const session_id& id) {
  s->forget_session(id);
  auto entries = s->forget_all(id);
  while (!entries.empty()) {
    const auto count = std::min(entries.size(), store::sweep_max);
    s->sweep({entries.end() - static_cast<std::ptrdiff_t>(count), entries.end()});
    entries.resize(entries.size() - count);
  }
}

void close_as(const std::shared_ptr<store>& s, const core::close_request& r, bool denied,
              const core::on<core::reply>& done) {
  s->servers().send(one(removal(s->where(), r.id, {.allowed = !denied})), repeat::never,
                    [s, r, denied, done](const batch_result& l) {
                      if (l.what != status::ok) return done(l);
                      if (l.replies[0].ok()) {
                        closed(s, r.id);
                        return done({status::ok, {}});
                      }
                      // A node is below it that is none of ours, which a person has to look at.
                      if (l.replies[0].code == zoo_code::not_empty) {
                        return done(damaged("s/" + r.id.str()));
                      }
                      // One that was denied has no `allowed` any more, which the whole multi fails
                      // of.
                      if (!denied) return close_as(s, r, true, done);
                      closed(s, r.id);
                      done(no_session(r.id));
                    });
}

}  // namespace

void close_session(const std::shared_ptr<store>& s, const core::close_request& r,
                   core::on<core::reply> done) {
  s->with_session(
      r.id, r.inc, [s, r, done](const core::session_record&) { close_as(s, r, false, done); },
      [done](core::reply why) { done(std::move(why)); });
}

namespace {

void take_on(const std::shared_ptr<store>& s, const core::take_request& r, unsigned tries,
             const core::on<core::take_reply>& done);

// A record that stays as it is and is not removed lacks a node, which somebody deleted by hand: the
// version of the record is what decides, so that it goes without the one, the other, or both.
void remove_taken(const std::shared_ptr<store>& s, const core::take_request& r, unsigned tries,
                  std::int32_t version, const core::on<core::take_reply>& done) {
  const nodes_below left{.allowed = !r.seen.denied && (tries & 1U) == 0, .gate = (tries & 2U) == 0};
  s->servers().send(one(removal(s->where(), r.id, left, version)), repeat::never,
                    [s, r, tries, done](const batch_result& taken) {
                      if (taken.what != status::ok) {
                        return done(reply_with<core::take_reply>(taken));
                      }
                      // It has changed, or ended, since it was read: looking tells which.
                      if (!taken.replies[0].ok()) return take_on(s, r, tries + 1, done);
                      s->forget_session(r.id);
                      s->sweep_some();
                      done(reply_with<core::take_reply>(status::ok));
                    });
}

void take_on(const std::shared_ptr<store>& s, const core::take_request& r, unsigned tries,
             const core::on<core::take_reply>& done) {
  constexpr unsigned takes_max = 4;
  if (tries == takes_max) return done(reply_with<core::take_reply>(damaged("s/" + r.id.str())));
  s->servers().send(
      {sync(s->where().sessions()), get(s->where().session(r.id))}, repeat::always,
      [s, r, tries, done](const batch_result& l) {
        if (l.what != status::ok) {
          return done(reply_with<core::take_reply>(core::reply_as(status::unavailable, l)));
        }
        const auto record = record_in(r.id, l.replies[1]);
        if (!record) {
          return done(reply_with<core::take_reply>(l.replies[1].ok() ? damaged("s/" + r.id.str())
                                                                     : no_session(r.id)));
        }
        if (record->at != r.seen) {
          auto reply = reply_with<core::take_reply>(status::changed,
                                                    "the session has changed since it was seen");
          reply.at = record->at;
          return done(std::move(reply));
        }
        remove_taken(s, r, tries, l.replies[1].stat.version, done);
      });
}

}  // namespace

void take_session(const std::shared_ptr<store>& s, const core::take_request& r,
                  core::on<core::take_reply> done) {
  take_on(s, r, 0, done);
}

namespace {

void deny_on(const std::shared_ptr<store>& s, const core::deny_request& r, unsigned tries,
             const core::on<core::deny_reply>& done) {
  s->servers().send(
      {sync(s->where().sessions()), get(s->where().session(r.id))}, repeat::always,
      [s, r, tries, done](const batch_result& l) {
        if (l.what != status::ok) {
          return done(reply_with<core::deny_reply>(core::reply_as(status::unavailable, l)));
        }
        auto record = record_in(r.id, l.replies[1]);
        if (!record) {
          return done(reply_with<core::deny_reply>(l.replies[1].ok() ? damaged("s/" + r.id.str())
                                                                     : no_session(r.id)));
        }
        auto reply = reply_with<core::deny_reply>(status::ok);
        reply.already = record->at.denied;
        reply.ttl = record->ttl;
        if (reply.already) return done(std::move(reply));
        if (tries == 0) {
          return done(reply_with<core::deny_reply>(
              status::unavailable, "it changed " + std::to_string(tries_max) + " times meanwhile"));
        }
        record->at.denied = true;
        record->denied_by = r.by;
        record->denied_why = r.why;
        std::vector<zoo_request> parts{
            // If it is still the record that was read: a beat in between begins anew.
            put(s->where().session(r.id), encode(*record), l.replies[1].stat.version),
            remove(s->where().allowed(r.id))};
        s->servers().send(one(all_or_none(std::move(parts))), repeat::never,
                          [s, r, tries, reply, done](const batch_result& denied) {
                            if (denied.what != status::ok) {
                              return done(reply_with<core::deny_reply>(denied));
                            }
                            if (denied.replies[0].ok()) return done(reply);
                            deny_on(s, r, tries - 1, done);
                          });
      });
}

}  // namespace

void deny_session(const std::shared_ptr<store>& s, const core::deny_request& r,
                  core::on<core::deny_reply> done) {
  deny_on(s, r, tries_max, done);
}

void glance_at_sessions(const std::shared_ptr<store>& s, const core::glance_request& r,
                        core::on<core::glance_reply> done) {
  std::vector<zoo_request> questions{sync(s->where().sessions())};
  for (const auto& id : r.whom) {
    questions.push_back(get(s->where().session(id)));
    questions.push_back(get(s->where().gate(id)));
  }
  s->servers().send(
      std::move(questions), repeat::always, [whom = r.whom, done](const batch_result& l) {
        if (l.what != status::ok) {
          return done(reply_with<core::glance_reply>(core::reply_as(status::unavailable, l)));
        }
        auto reply = reply_with<core::glance_reply>(status::ok);
        for (std::size_t i = 0; i < whom.size(); ++i) {
          const auto& node = l.replies[1 + 2 * i];
          auto record = record_in(whom[i], node);
          if (!record && node.ok()) {
            return done(reply_with<core::glance_reply>(damaged("s/" + whom[i].str())));
          }
          if (!record) continue;
          record->gate = gate_in(l.replies[2 + 2 * i]);
          reply.there.push_back(std::move(*record));
        }
        done(std::move(reply));
      });
}

}  // namespace holdfast::engines::zookeeper
