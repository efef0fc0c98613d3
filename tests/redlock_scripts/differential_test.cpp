#include "tests/redlock_scripts/differential.hpp"
#include "core/rounds_fixture.hpp"
#include "sim/redlock/script_rules.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <sstream>
#include <string_view>

namespace holdfast::redis_tests {
namespace {

constexpr std::size_t length = 120;

std::uint64_t sequences() { return static_cast<std::uint64_t>(core::rounds(40, 1'000)); }

/// Leaves out every operation without which the answers still differ.
std::vector<operation> shrunk(twins& both, std::vector<operation> all, int at) {
  all.resize(static_cast<std::size_t>(at) + 1);
  for (std::size_t i = all.size() - 1; i-- > 0;) {
    std::vector<operation> fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (both.run(fewer).at >= 0) all = fewer;
  }
  return all;
}

TEST(redlock_differential, the_simulated_node_answers_as_the_scripts_do) {
  node real;
  twins both(real);
  for (std::uint64_t seed = 1; seed <= sequences(); ++seed) {
    const auto all = sequence(seed, length);
    const auto found = both.run(all);
    if (found.at < 0) continue;
    std::ostringstream text;
    for (const operation& o : shrunk(both, all, found.at)) text << "  " << o << '\n';
    FAIL() << "seed " << seed << ", operation " << found.at << ": the server answers \""
           << found.real << "\", the simulated node \"" << found.simulated << "\"; in short:\n"
           << text.str();
  }
}

struct removal {
  const char* name;
  bool sim::redlock::script_rules::*rule;
};

std::ostream& operator<<(std::ostream& out, const removal& r) { return out << r.name; }

class redlock_differential_without : public testing::TestWithParam<removal> {
 protected:
  ~redlock_differential_without() override { sim::redlock::scripts = {}; }
};

TEST_P(redlock_differential_without, one_rule_finds_that_the_simulated_node_lacks_it) {
  node real;
  twins both(real);
  sim::redlock::scripts.*GetParam().rule = false;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    if (both.run(sequence(seed, length)).at >= 0) return;
  }
  FAIL() << "a comparison that cannot fail proves nothing";
}

using rules = sim::redlock::script_rules;
constexpr removal removals[] = {{"compare_nonce", &rules::compare_nonce},
                                {"keep_floor", &rules::keep_floor},
                                {"cache_has_epoch", &rules::cache_has_epoch},
                                {"raise_by_compare", &rules::raise_by_compare},
                                {"release_by_compare", &rules::release_by_compare},
                                {"put_only_if_free", &rules::put_only_if_free},
                                {"write_by_compare", &rules::write_by_compare},
                                {"write_keeps_floor", &rules::write_keeps_floor},
                                {"seal_only_upwards", &rules::seal_only_upwards},
                                {"refuse_denied", &rules::refuse_denied},
                                {"refuse_longer_ttl", &rules::refuse_longer_ttl}};

INSTANTIATE_TEST_SUITE_P(each, redlock_differential_without, testing::ValuesIn(removals),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace holdfast::redis_tests
