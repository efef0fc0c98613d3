#include "engines/redlock/node_fault.hpp"

#include "engines/redlock/scripts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace holdfast::engines::redlock {
namespace {

using core::redlock::fault;

TEST(node_fault, of_a_script_is_named_by_its_first_word) {
  const std::pair<std::string_view, fault> cases[] = {
      {refusal::not_admitted, fault::not_admitted},
      {refusal::epoch, fault::epoch_moved},
      {refusal::ttl, fault::ttl_too_long},
      {refusal::no_session, fault::session_missing},
      {refusal::denied, fault::denied},
      {refusal::clock_went_back, fault::clock_went_back},
      {refusal::counter, fault::counter_full},
      {"HFSOMETHING", fault::refused}};
  for (const auto& [word, why] : cases) {
    EXPECT_EQ(fault_of(word), why) << word;
    EXPECT_EQ(fault_of(std::string(word) + " 9 and so on"), why) << word;
    EXPECT_EQ(fault_of(std::string(word) + "X 9"), fault::refused) << word;
  }
}

TEST(node_fault, of_redis_is_what_it_means_for_a_node) {
  const std::pair<const char*, fault> cases[] = {
      {"LOADING Redis is loading the dataset in memory", fault::loading},
      {"MISCONF Redis is configured to save RDB snapshots", fault::disk_error},
      {"OOM command not allowed when used memory > 'maxmemory'.", fault::out_of_memory},
      {"READONLY You can't write against a read only replica.", fault::replica},
      {"MASTERDOWN Link with MASTER is down", fault::replica},
      {"BUSY Redis is busy running a script.", fault::busy_script},
      {"BUSY", fault::busy_script},
      {"UNKILLABLE Sorry the script already executed write commands", fault::busy_script},
      {"NOSCRIPT No matching script.", fault::script_missing},
      {"NOAUTH Authentication required.", fault::credentials},
      {"WRONGPASS invalid username-password pair", fault::credentials},
      {"NOPERM this user has no permissions to run the 'set' command", fault::permission},
      {"MOVED 3999 127.0.0.1:6381", fault::clustered},
      {"ASK 3999 127.0.0.1:6381", fault::clustered},
      {"CROSSSLOT Keys", fault::clustered},
      {"CLUSTERDOWN", fault::clustered},
      {"TRYAGAIN Multiple keys", fault::clustered},
      {"NOREPLICAS Not enough good replicas to write.", fault::too_few_replicas},
      {"WRONGTYPE Operation against a key", fault::wrong_type},
      {"ERR max number of clients reached", fault::too_many_clients},
      {"HFDENIED\r\n", fault::denied},
      {"EXECABORT Transaction discarded", fault::refused},
      {"ERR unknown command", fault::refused},
      {"BUSYBODY x", fault::refused},
      {"", fault::refused},
      {" ", fault::refused},
      {"\r\n", fault::refused}};
  for (const auto& [line, why] : cases) EXPECT_EQ(fault_of(line), why) << line;
}

TEST(node_fault, of_what_is_no_error_is_that_it_is_garbled) {
  wire::reply r;
  r.kind = wire::reply_kind::status;
  r.text = "OOM";
  EXPECT_EQ(fault_in(r), fault::garbled);
  r.kind = wire::reply_kind::error;
  EXPECT_EQ(fault_in(r), fault::out_of_memory);
}

}  // namespace
}  // namespace holdfast::engines::redlock
