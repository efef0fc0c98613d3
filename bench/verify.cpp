// The checker of histories: 100,000 operations over 100 locks, beside the reading of their text.
#include <holdfast/history.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

namespace {

using namespace holdfast;
using history::line;
using history::operation;

constexpr int locks = 100;
constexpr int operations_of_each = 1000;
constexpr int callers = 8;

double ms_since(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
}

/// Eight callers on one name. Each wants it, does some checks and writes, and gives it back; the
/// times of the calls overlap, as those of processes that contend do.
class contention {
 public:
  contention(int number, std::mt19937_64& random)
      : name_("lock-" + std::to_string(number)), kind_(number % 4), random_(random) {}

  void run(std::vector<line>& into) {
    std::vector<std::int64_t> wanted_since(callers, 1);
    std::int64_t now = 1;
    std::uint64_t token = 0;
    int written = 0;
    for (int done = 0; done < operations_of_each;) {
      const auto who = static_cast<std::size_t>(random_() % callers);
      const auto say = [&](operation what, std::int64_t from, const char* outcome) -> line& {
        now += 10;
        into.push_back({.what = what,
                        .caller = std::to_string(who),
                        .lock = name_,
                        .token = {token},
                        .invoked = from,
                        .returned = now + late(),
                        .outcome = outcome,
                        .value = {}});
        ++done;
        return into.back();
      };
      ++token;
      line& grant = say(operation::acquire, wanted_since[who], "ok");
      if (kind_ == 1) grant.mode = mode::permits(3);
      if (kind_ == 2) grant.token = {};
      for (int i = 0; i < 7; ++i) {
        line& l =
            say(kind_ == 3 && i % 2 == 0 ? operation::write : operation::check, now + 5, "ok");
        if (l.what == operation::write) l.value = std::to_string(++written);
        if (kind_ == 2) l.token = {};
      }
      line& end = say(operation::release, now + 5, "ok");
      if (kind_ == 2) end.token = {};
      now = std::max(now, end.returned);
      wanted_since[who] = now + 1;
    }
  }

 private:
  std::int64_t late() { return static_cast<std::int64_t>(random_() % 4); }

  std::string name_;
  int kind_;
  std::mt19937_64& random_;
};

}  // namespace

int main() {
  std::mt19937_64 random(1);
  std::vector<line> lines;
  for (int i = 0; i < locks; ++i) contention(i, random).run(lines);
  std::string text(history::header);
  for (const line& l : lines) text += print(l);

  const auto reading = std::chrono::steady_clock::now();
  const auto read = history::parse(text).value();
  const double read_ms = ms_since(reading);
  const auto judging = std::chrono::steady_clock::now();
  const auto all = history::judge(read);
  const double judge_ms = ms_since(judging);
  std::size_t good = 0;
  for (const auto& j : all) good += j.found == history::verdict::linearizable ? 1 : 0;
  std::printf(
      "%zu operations on %d locks: read %.1f ms, judged %.1f ms (limit of both: 2000 ms), "
      "ratio %.2f; %zu of %zu linearizable\n",
      read.size(), locks, read_ms, judge_ms, judge_ms / read_ms, good, all.size());

  // One that acts after it was replaced, in each name: what it costs to explain.
  std::vector<line> spoilt = read;
  for (int i = 0; i < locks; ++i) {
    line late = read[static_cast<std::size_t>(i) * operations_of_each + 1];
    late.what = operation::check;
    late.value.reset();
    late.lock = "lock-" + std::to_string(i);
    late.token = {i % 4 == 2 ? 0U : 1U};
    late.invoked = 1'000'000;
    late.returned = 1'000'001;
    spoilt.push_back(late);
  }
  const auto explaining = std::chrono::steady_clock::now();
  std::size_t bad = 0;
  std::size_t shown = 0;
  for (const auto& j : history::judge(spoilt)) {
    bad += j.found == history::verdict::violation ? 1 : 0;
    shown += j.conflict.size();
  }
  std::printf("one late check more in each: %.1f ms; %zu violations, %zu lines shown\n",
              ms_since(explaining), bad, shown);
  return good == all.size() ? 0 : 1;
}
