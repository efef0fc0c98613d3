#include "engines/zookeeper/codec.hpp"

#include "core/cut.hpp"
#include "core/lease.hpp"
#include "core/whole_number.hpp"
#include "engines/zookeeper/escaping.hpp"

#include <map>

namespace holdfast::engines::zookeeper {

namespace {

constexpr std::string_view session_format = "holdfast-session 1";
constexpr std::string_view entry_format = "holdfast-entry 1";
constexpr std::size_t lines_max = 64;

std::int64_t micros(wall_time t) { return t.time_since_epoch().count(); }

class writer {
 public:
  explicit writer(std::string_view format) : text_(format) { text_ += '\n'; }

  template <class Number>
  writer& number(std::string_view key, Number value) {
    return line(key, std::to_string(value));
  }
  writer& text(std::string_view key, std::string_view value) {
    if (value.empty()) return *this;
    return line(key, escaped(value.substr(0, text_bytes_max), escape_for::line));
  }
  std::string take() { return std::move(text_); }

 private:
  writer& line(std::string_view key, const std::string& value) {
    text_.append(key).append(" ").append(value).append("\n");
    return *this;
  }
  std::string text_;
};

class reader {
 public:
  reader(std::string_view data, std::string_view format) {
    good_ = core::cut(data, '\n') == format;
    while (good_ && !data.empty()) {
      const auto line = core::cut(data, '\n');
      const auto space = line.find(' ');
      // A key twice is damage: nobody can tell which of both counts.
      good_ = space != std::string_view::npos && lines_.size() < lines_max &&
              lines_.emplace(line.substr(0, space), line.substr(space + 1)).second;
    }
  }

  bool good() const noexcept { return good_; }
  bool has(std::string_view key) const { return lines_.contains(key); }

  template <class Number>
  Number number(std::string_view key) {
    const auto found = lines_.find(key);
    if (found == lines_.end()) return {};
    const auto value = core::whole_number<Number>(found->second);
    good_ = good_ && value;
    return value.value_or(Number{});
  }
  wall_time wall(std::string_view key) { return core::wall_time_of(number<std::int64_t>(key)); }
  std::string text(std::string_view key) {
    const auto found = lines_.find(key);
    if (found == lines_.end()) return {};
    auto value = unescaped(found->second);
    good_ = good_ && value && value->size() <= text_bytes_max;
    return good_ ? std::move(*value) : std::string();
  }

 private:
  std::map<std::string_view, std::string_view> lines_;
  bool good_{};
};

}  // namespace

std::string encode(const core::session_record& s) {
  writer w(session_format);
  w.number("ttl", s.ttl.count())
      .number("opened", micros(s.opened))
      .number("pid", s.owner.pid)
      .number("started", micros(s.owner.started))
      .text("host", s.owner.host)
      .text("program", s.owner.program)
      .text("instance", s.owner.instance)
      .text("label", s.owner.label)
      .text("boot", s.owner.boot_id)
      .number("device", s.where.device)
      .number("inode", s.where.inode);
  if (s.at.denied) w.number("denied", 1).text("by", s.denied_by).text("why", s.denied_why);
  return w.take();
}

std::optional<core::session_record> decode_session(std::string_view data) {
  reader in(data, session_format);
  core::session_record s;
  s.ttl = duration(in.number<std::int64_t>("ttl"));
  s.opened = in.wall("opened");
  s.owner.pid = in.number<std::int64_t>("pid");
  s.owner.started = in.wall("started");
  s.owner.host = in.text("host");
  s.owner.program = in.text("program");
  s.owner.instance = in.text("instance");
  s.owner.label = in.text("label");
  s.owner.boot_id = in.text("boot");
  s.where.device = in.number<std::uint64_t>("device");
  s.where.inode = in.number<std::uint64_t>("inode");
  s.at.denied = in.has("denied");
  s.denied_by = in.text("by");
  s.denied_why = in.text("why");
  // Outside of this no session is opened, and takeovers would come too early or never.
  if (!in.good() || s.ttl < core::ttl_min || s.ttl > core::ttl_max) return {};
  return s;
}

std::string encode_entry(wall_time since) {
  return writer(entry_format).number("since", micros(since)).take();
}

std::optional<wall_time> decode_entry(std::string_view data) {
  reader in(data, entry_format);
  const auto since = in.wall("since");
  if (!in.good()) return {};
  return since;
}

token token_of(std::int64_t transaction) noexcept {
  if (transaction <= 0 || static_cast<std::uint64_t>(transaction) > token_max.value) return {};
  return token{static_cast<std::uint64_t>(transaction)};
}

}  // namespace holdfast::engines::zookeeper
