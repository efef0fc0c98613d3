#include "tests/engine/library_threads.hpp"

#include "tests/engine/conformance.hpp"

#include <memory>
#include <vector>

namespace holdfast::conformance {
namespace {

std::vector<callback_store> stores() {
  std::vector<callback_store> all;
  for (const auto& kind : built_engines()) {
    all.push_back({kind.name, [url_in = kind.url_in] {
                     static std::vector<std::unique_ptr<tests::temporary_directory>> scratch;
                     scratch.push_back(std::make_unique<tests::temporary_directory>());
                     return url_in(scratch.back()->path());
                   }});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(on, library_threads, testing::ValuesIn(stores()), name_of_store);

}  // namespace
}  // namespace holdfast::conformance
