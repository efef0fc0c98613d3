#include "engines/etcd/engine.hpp"
#include "engines/etcd/scripted_server_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// What is told of an entry by a server that stops answering, or answers nonsense, on the way: who
/// is told "unavailable" leaves the entry where it is, in everybody's way.

namespace holdfast::engines::etcd {
namespace {

using core::status;

constexpr std::uint64_t own_inc = 3;
constexpr const char* compacted = "etcdserver: mvcc: required revision has been compacted";

const session_id own_id{{1}};
const session_id other_id{{2}};

core::enqueue_request request_for(const mode& how, bool leave_if_busy = false) {
  return {.name = lock_name("a"),
          .id = own_id,
          .inc = own_inc,
          .gate = 1,
          .request = 1,
          .how = how,
          .leave_if_busy = leave_if_busy};
}

// ---- what the server says ----

struct stored {
  std::string key;
  std::uint64_t created;
  std::string value;
};

std::string range_of(const std::vector<stored>& all) {
  const auto range = made([&](auto& w) {
    for (const auto& s : all) {
      w.message(2, made([&](auto& kv) {
                  kv.text(1, s.key);
                  kv.number(2, s.created);
                  kv.number(3, s.created);
                  kv.text(5, s.value);
                }));
    }
    w.number(4, all.size());
  });
  return made([&](auto& w) { w.message(1, range); });
}
std::string count_of(std::uint64_t count) {
  const auto range = made([&](auto& w) { w.number(4, count); });
  return made([&](auto& w) { w.message(1, range); });
}
std::string put_done() {
  return made([](auto& w) { w.message(2, header_of(ours)); });
}
std::string decided(bool succeeded, std::int64_t revision, const std::vector<std::string>& ops) {
  return made([&](auto& w) {
    w.message(1, header_of(ours, revision));
    w.number(2, succeeded ? 1 : 0);
    for (const auto& o : ops) w.message(3, o);
  });
}
std::string inside(const std::string& txn) {
  return made([&](auto& w) { w.message(4, txn); });
}

const key_space own_keys{"t/"};

stored entry_of(const session_id& id, std::uint64_t created, const mode& how) {
  return {own_keys.entry(lock_name("a"), how, id, own_inc, 1), created, encode_entry({})};
}
stored record_of(const session_id& id) {
  core::session_record r;
  r.id = id;
  r.ttl = 10s;
  return {own_keys.session(id), own_inc, encode(r)};
}
/// Nothing was made, for `there` is there.
std::string refused(const std::vector<stored>& there) {
  return decided(false, 10,
                 {range_of({record_of(own_id)}), range_of({{"t/epoch", 5, encode(first_epoch)}}),
                  range_of(there)});
}

/// What the engine says of an entry that the server takes like this.
status outcome_of(const core::enqueue_request& r, const std::function<void(line&)>& take) {
  known_server server(take);
  const client c({server.peer.address()});
  EXPECT_TRUE(server.known.wait());
  auto engine = std::make_shared<etcd_engine>(c.servers);
  const auto ends = std::make_shared<std::promise<status>>();
  auto ended = ends->get_future();
  engine->enqueue(r, [ends](const core::queue_view& v) { ends->set_value(v.what); });
  const bool answered = ended.wait_for(20s) == std::future_status::ready;
  engine.reset();
  EXPECT_TRUE(server.left.wait());
  EXPECT_TRUE(answered);
  return answered ? ended.get() : status::ok;
}

TEST(etcd_enqueuing, an_entry_behind_which_nobody_can_look_is_an_unknown_outcome) {
  const auto two = mode::permits(2);
  const auto is_third = decided(true, 20, {put_done(), count_of(3)});
  EXPECT_EQ(outcome_of(request_for(two),
                       [&](line& l) {
                         l.answer_next(is_third);
                         l.fail(l.request(), "11", compacted);
                       }),
            status::unknown);
  EXPECT_EQ(outcome_of(request_for(two),
                       [&](line& l) {
                         l.answer_next(is_third);
                         l.answer_next(decided(true, 21, {}));
                       }),
            status::unknown);
}

TEST(etcd_enqueuing, an_entry_among_sessions_that_cannot_be_read_is_an_unknown_outcome) {
  const auto two = mode::permits(2);
  EXPECT_EQ(outcome_of(request_for(two),
                       [&](line& l) {
                         l.answer_next(decided(true, 20, {put_done(), count_of(3)}));
                         l.answer_next(decided(
                             true, 20,
                             {range_of({entry_of(other_id, 9, two), entry_of(own_id, 20, two)})}));
                         l.fail(l.request(), "11", compacted);
                       }),
            status::unknown);
}

TEST(etcd_enqueuing, an_entry_that_is_not_where_it_was_made_is_an_unknown_outcome) {
  const auto two = mode::permits(2);
  EXPECT_EQ(outcome_of(request_for(two),
                       [&](line& l) {
                         l.answer_next(decided(true, 20, {put_done(), count_of(3)}));
                         l.answer_next(decided(true, 20, {range_of({entry_of(other_id, 9, two)})}));
                         l.answer_next(decided(true, 20, {range_of({record_of(other_id)})}));
                       }),
            status::unknown);
}

// The one who waits was not there when the queue was read, and its session was not asked for.
TEST(etcd_enqueuing, a_place_behind_a_newcomer_who_cannot_be_read_is_an_unknown_outcome) {
  const auto one = mode::exclusive();
  const auto place = [&](bool was_made) {
    return outcome_of(request_for(one), [&, was_made](line& l) {
      l.answer_next(refused({}));
      const auto queue = range_of({entry_of(other_id, 19, one), entry_of(own_id, 20, one)});
      const auto inner = was_made ? decided(true, 20, {put_done(), queue})
                                  : decided(false, 20, {range_of({entry_of(other_id, 19, one)})});
      l.answer_next(decided(true, 20, {inside(inner), range_of({record_of(own_id)})}));
      l.fail(l.request(), "11", compacted);
    });
  };
  EXPECT_EQ(place(true), status::unknown);
  EXPECT_EQ(place(false), status::unavailable) << "no entry was made";
}

TEST(etcd_enqueuing, where_no_entry_was_made_the_outcome_is_known) {
  const auto two = mode::permits(2);
  EXPECT_EQ(outcome_of(request_for(two, true),
                       [&](line& l) {
                         l.answer_next(refused({entry_of(other_id, 9, two)}));
                         l.fail(l.request(), "11", compacted);
                       }),
            status::unavailable);
}

TEST(etcd_enqueuing, an_answer_in_no_known_form_is_an_unknown_outcome) {
  EXPECT_EQ(outcome_of(request_for(mode::shared()),
                       [](line& l) { l.answer_next(decided(true, 20, {put_done()})); }),
            status::unknown);
  EXPECT_EQ(outcome_of(request_for(mode::exclusive()),
                       [](line& l) {
                         l.answer_next(refused({}));
                         l.answer_next(decided(true, 20, {put_done()}));
                       }),
            status::unknown);
}

TEST(etcd_enqueuing, an_entry_whose_revision_fits_into_no_token_is_an_unknown_outcome) {
  constexpr auto large = std::int64_t{1} << (revision_bits + 1);
  const auto at_once = decided(true, large, {put_done()});
  EXPECT_EQ(outcome_of(request_for(mode::exclusive()), [&](line& l) { l.answer_next(at_once); }),
            status::unknown);
  // A try of permits that finds others looks first, and then appends.
  const auto two = mode::permits(2);
  EXPECT_EQ(outcome_of(request_for(two, true),
                       [&](line& l) {
                         l.answer_next(refused({entry_of(other_id, 9, two)}));
                         l.answer_next(decided(true, 10, {range_of({record_of(other_id)})}));
                         l.answer_next(at_once);
                       }),
            status::unknown);
}

}  // namespace
}  // namespace holdfast::engines::etcd
