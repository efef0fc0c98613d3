// Any bytes as the replies of a server: the same messages and the same refusal however they are cut
// into pieces, never more of them than the bytes can hold, and written again they read the same.
#include "wire/resp_reader.hpp"

#include "fuzz/target.hpp"
#include "wire/resp_stream_fixture.hpp"

using namespace holdfast::wire;

namespace {

std::size_t elements_of(const reply& r) {
  std::size_t count = 1;
  for (const reply& part : r.elements) count += elements_of(part);
  return count;
}

// Bounds that short inputs reach.
constexpr resp_limits tight{.line_bytes = 48,
                            .bulk_bytes = 32,
                            .elements = 8,
                            .depth = 3,
                            .message_bytes = 128,
                            .unread_bytes = 4096};

void must_equal(const reading& a, const reading& b) {
  MUST(a.messages.size() == b.messages.size());
  for (std::size_t i = 0; i < a.messages.size(); ++i) {
    // By their bytes, for a double that is no number equals nothing.
    MUST(resp3_of(a.messages[i]) == resp3_of(b.messages[i]));
  }
  MUST(a.failure.has_value() == b.failure.has_value());
  if (a.failure) MUST(a.failure->at == b.failure->at && a.failure->message == b.failure->message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const resp_limits limits = data[0] % 2 == 0 ? resp_limits{} : tight;
  const std::size_t piece = 1 + data[1] % 64;
  const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);

  const reading one_by_one = read_all(bytes, 1, limits);
  must_equal(one_by_one, read_all(bytes, piece, limits));
  if (bytes.size() <= limits.unread_bytes) {
    must_equal(one_by_one, read_all(bytes, SIZE_MAX, limits));
  }
  std::size_t elements = 0;
  for (const reply& message : one_by_one.messages) {
    elements += elements_of(message);
    const auto again = read_all(resp3_of(message));
    MUST(again.messages.size() == 1 && !again.failure);
    MUST(resp3_of(again.messages[0]) == resp3_of(message));
  }
  MUST(elements <= bytes.size() / 3);
  if (one_by_one.failure) MUST(one_by_one.failure->at <= bytes.size());
  return 0;
}
