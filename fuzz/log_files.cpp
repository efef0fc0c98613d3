// Any bytes as the files of a log: refused, or read and written again without a change of meaning.
#include "fence/log_inline.hpp"
#include "fence/log_record.hpp"
#include "fuzz/target.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace holdfast;
using namespace holdfast::fencing;

namespace {

/// The same text with a right end line, so that what stands before it is looked at too.
std::string with_checksum(std::string text) {
  text.resize(std::min(text.size(), text.rfind('\n') + 1));
  const std::uint64_t sum = checksum_of(std::as_bytes(std::span(text)));
  text += "end ";
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(sum >> shift) & 15U];
  return text + "\n";
}

void read_texts(const std::string& text) {
  if (const auto v = decode_inline(text, "inline")) {
    MUST(encode_inline(*v) == text);
    std::uint64_t next = v->first();
    for (const auto& s : v->sealed) {
      MUST(s.first == next && s.records > 0 && s.id.of <= v->owner);
      next = s.end();
    }
    MUST(next == v->next && v->version > 0);
  }
  if (const auto source = decode_format(text, "format")) MUST(encode_format(*source) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_texts(text);
  read_texts(with_checksum(text));

  const segment_id id{log_epoch::first_of({3}), 1};
  const auto raw = std::as_bytes(std::span(data, size));
  const auto there = decode_record(raw, id, 5);
  MUST(there.payload.size() <= size);
  MUST((there.is == record_there::state::whole) <= (there.bytes <= size));
  if (size > record_bytes_max) return 0;
  std::vector<std::byte> record;
  encode_record(record, raw, id, 5);
  const auto again = decode_record(record, id, 5);
  MUST(again.is == record_there::state::whole && again.bytes == record.size());
  MUST(std::equal(again.payload.begin(), again.payload.end(), raw.begin(), raw.end()));
  // At another place, in another segment, cut or changed it is none.
  MUST(decode_record(record, id, 6).is == record_there::state::torn);
  MUST(decode_record(record, {id.of, 2}, 5).is == record_there::state::torn);
  MUST(decode_record(std::span(record).first(record.size() - 1), id, 5).is ==
       record_there::state::torn);
  record[size % record.size()] ^= std::byte{1};
  MUST(decode_record(record, id, 5).is == record_there::state::torn);
  return 0;
}
