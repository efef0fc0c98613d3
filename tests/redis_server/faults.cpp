#include "tests/redis_server/faults.hpp"

#include "tests/process/child.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

namespace holdfast::redis_tests::faults {

using namespace std::chrono_literals;

namespace {

void nothing(server&) {}

/// Sets a parameter, and sets it back.
fault setting(const char* name, const char* parameter, const char* bad, const char* good) {
  return {name,
          [=](server& s) {
            s.command({"CONFIG", "SET", parameter, bad});
          },
          [=](server& s) {
            s.command({"CONFIG", "SET", parameter, good});
          },
          true};
}

void kill_clients(server& s) { s.command({"CLIENT", "KILL", "TYPE", "normal"}); }

}  // namespace

fault script_flush() {
  return {"script_flush", [](server& s) { s.command({"SCRIPT", "FLUSH"}); }, nothing};
}

fault client_kill() { return {"client_kill", kill_clients, kill_clients}; }

fault client_pause() {
  return {"client_pause",
          [](server& s) {
            s.command({"CLIENT", "PAUSE", "400", "ALL"});
          },
          [](server& s) {
            s.command({"CLIENT", "UNPAUSE"});
          }};
}

fault busy_script() {
  const auto busy = std::make_shared<std::vector<connection>>();
  return {"busy_script",
          [busy](server& s) {
            busy->push_back(s.connect());
            busy->back().send({"EVAL", "while true do end", "0"});
          },
          [](server& s) {
            EXPECT_TRUE(process::eventually([&] {
              return s.command({"SCRIPT", "KILL"}).text == "OK";
            }));
          },
          true};
}

fault misconf() {
  return {"misconf",
          [](server& s) {
            // A snapshot cannot replace a directory.
            std::filesystem::create_directory(s.directory() + "/dump.rdb");
            s.command({"CONFIG", "SET", "save", "3600 1"});
            s.command({"BGSAVE"});
            EXPECT_TRUE(process::eventually([&] {
              return s.command({"SET", "other", "x"}).error_word() == "MISCONF";
            }));
          },
          [](server& s) {
            s.command({"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"});
          },
          true};
}

fault out_of_memory() { return setting("out_of_memory", "maxmemory", "1", "0"); }

fault maxclients() {
  return {"maxclients",
          [](server& s) {
            s.command({"CONFIG", "SET", "maxclients", "1"});
            s.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
          },
          [](server& s) {
            s.command({"CONFIG", "SET", "maxclients", "1000"});
          },
          true};
}

fault too_few_replicas() { return setting("too_few_replicas", "min-replicas-to-write", "1", "0"); }

fault hung() {
  return {"hung", [](server& s) { s.stop(); }, [](server& s) { s.resume(); }, true};
}

fault hung_for_long() {
  return {"hung_for_long", [](server& s) { s.stop(); },
          [](server& s) {
            std::this_thread::sleep_for(900ms);
            s.resume();
          },
          true};
}

std::vector<fault> all() {
  return {script_flush(),  client_kill(), client_pause(),     busy_script(), misconf(),
          out_of_memory(), maxclients(),  too_few_replicas(), hung(),        hung_for_long()};
}

}  // namespace holdfast::redis_tests::faults
