// Lead while elected, with a value that everybody can read, and stop when the lease is lost.
//
//   example_election [STORE]

#include <holdfast/election.hpp>

#include <chrono>
#include <cstdio>
#include <utility>

using namespace std::chrono_literals;

int fail(const holdfast::error& why) {
  std::fprintf(stderr, "%s\n", why.message().c_str());
  return 1;
}

int main(int argc, char** argv) {
  // [lead]
  auto election =
      holdfast::election::open(argc > 1 ? argv[1] : "local:", holdfast::lock_name("head"));
  if (!election) return fail(election.error());

  auto leads = election->campaign("host-a:8080", {.wait = 10s});
  if (!leads) return fail(leads.error());
  std::printf("leads in term %llu\n", static_cast<unsigned long long>(leads->term().value));

  // Any process can read who leads. It may be over by the time it is read.
  auto now = election->current();
  if (!now) return fail(now.error());
  if (*now) std::printf("the leader is at %s\n", (*now)->value.c_str());

  // Before each step that only the leader may take.
  if (auto good = leads->check(100ms); !good) return fail(good.error());
  return std::move(*leads).resign() ? 0 : 1;
  // [/lead]
}
