// Any bytes as a history: a refusal that names a line, or lines that print as they were read, and
// a judgement within its memory.
#include <holdfast/history.hpp>

#include "fuzz/target.hpp"

using namespace holdfast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  // Most inputs are about lines, not about the header.
  if (!text.starts_with("holdfast")) text.insert(0, history::header);
  const auto lines = history::parse(text);
  if (!lines) {
    MUST(lines.error() == errc::damaged);
    MUST(lines.error().message().starts_with("line "));
    for (const char c : lines.error().message()) MUST(c >= ' ' && c < 0x7f);
    return 0;
  }
  std::string again(history::header);
  for (const auto& l : *lines) again += print(l);
  const auto read = history::parse(again);
  MUST(read.has_value() && read->size() == lines->size());
  for (std::size_t i = 0; i < read->size(); ++i) MUST(print((*read)[i]) == print((*lines)[i]));
  for (const auto& j : history::judge(*lines, {.as = {}, .memory_max = 1 << 20})) {
    MUST(j.found != history::verdict::violation || !j.conflict.empty());
    for (const auto at : j.conflict) MUST(at < lines->size());
  }
  return 0;
}
