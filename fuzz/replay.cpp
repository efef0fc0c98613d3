// Runs the inputs in the files and folders that are named, without libFuzzer.
#include "fuzz/target.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

void feed(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
  // A copy of exactly this size, so that AddressSanitizer sees a read beyond the end.
  const std::vector<std::uint8_t> input(text.begin(), text.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  int ran = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_regular_file(argv[i])) {
      feed(argv[i]);
      ++ran;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      feed(entry.path());
      ++ran;
    }
  }
  std::printf("%d inputs\n", ran);
  return ran == 0 ? 1 : 0;
}
