// replay TARGET PATH...: runs the inputs in those files and folders, without libFuzzer.
#include "fuzz/target.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace holdfast::fuzz {
namespace {

std::map<std::string, run_input>& targets() {
  static std::map<std::string, run_input> all;
  return all;
}

void feed(run_input run, const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
  // A copy of exactly this size, so that AddressSanitizer sees a read beyond the end.
  const std::vector<std::uint8_t> input(text.begin(), text.end());
  run(input.data(), input.size());
}

}  // namespace

replayed::replayed(const char* name, run_input run) { targets()[name] = run; }

}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  using namespace holdfast::fuzz;
  const auto found = argc < 2 ? targets().end() : targets().find(argv[1]);
  if (found == targets().end()) {
    std::fprintf(stderr, "usage: replay TARGET PATH...\n");
    return 64;
  }
  int ran = 0;
  for (int i = 2; i < argc; ++i) {
    if (std::filesystem::is_regular_file(argv[i])) {
      feed(found->second, argv[i]);
      ++ran;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      feed(found->second, entry.path());
      ++ran;
    }
  }
  std::printf("%d inputs\n", ran);
  return ran == 0 ? 1 : 0;
}
