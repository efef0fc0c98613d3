#include "engines/redlock/commands.hpp"

#include "core/assert.hpp"
#include "core/redlock/renewal.hpp"
#include "engines/redlock/keys.hpp"
#include "wire/resp_writer.hpp"

#include <array>
#include <chrono>
#include <cstddef>

namespace holdfast::engines::redlock::commands {

namespace {

using wire::joined;
using wire::resp_writer;

std::int64_t milliseconds_of(duration ttl) {
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(ttl).count();
  HOLDFAST_ASSERT(rounded > 0);
  return rounded;
}

/// The digits of an id, where session_id::str() would allocate.
class digits_of {
 public:
  explicit digits_of(const session_id& id) noexcept {
    constexpr std::string_view digits = "0123456789abcdef";
    std::size_t at = 0;
    for (const std::uint8_t byte : id.bytes) {
      text_[at++] = digits[byte >> 4U];
      text_[at++] = digits[byte & 15U];
    }
  }
  std::string_view view() const noexcept { return {text_.data(), text_.size()}; }

 private:
  std::array<char, 32> text_;
};

/// EVALSHA of `s` with this many arguments that follow.
void begin(resp_writer& to, const script& s, std::size_t keys, std::size_t arguments) {
  to.begin(3 + keys + arguments);
  to.argument("EVALSHA");
  to.argument(s.sha1);
  to.argument(keys);
}

template <class Seat>
void put_release(std::string& out, std::string_view name, std::string_view value, Seat seat,
                 bool own, int keep, unsigned database) {
  resp_writer to(out);
  begin(to, scripts::release, 1, database == 0 ? 4 : 5);
  to.argument(name);
  to.argument(value);
  to.argument(seat);
  to.argument(own ? 1 : 0);
  to.argument(keep);
  if (database != 0) to.argument(scope_of(database));
}

void put_names(resp_writer& to, std::span<const held_key> locks) {
  for (const held_key& k : locks) to.argument(k.name);
}

void put_values(resp_writer& to, std::span<const held_key> locks) {
  for (const held_key& k : locks) to.argument(k.value);
}

}  // namespace

void acquire(std::string& out, std::string_view name, std::string_view value,
             const session_id& session, duration ttl, std::uint64_t hint, std::string_view nonce,
             std::uint64_t epoch) {
  const digits_of id(session);
  resp_writer(out).command("EVALSHA", scripts::acquire.sha1, 4, name, joined{token_prefix, name},
                           node_key, joined{session_prefix, id.view()}, value, milliseconds_of(ttl),
                           hint, nonce, epoch);
}

void raise(std::string& out, std::string_view name, std::string_view value, token to,
           std::string_view nonce, std::uint64_t epoch) {
  HOLDFAST_ASSERT(to.value > 0 && to.value <= token_max.value);
  resp_writer(out).command("EVALSHA", scripts::raise.sha1, 3, name, joined{token_prefix, name},
                           node_key, value, to.value, nonce, epoch);
}

void repair(std::string& out, std::string_view name, std::string_view value,
            const session_id& session, duration ttl, token at_least, std::string_view nonce) {
  // Without it the counter there could give a token that was given before.
  HOLDFAST_ASSERT(at_least.value > 0);
  const digits_of id(session);
  resp_writer(out).command("EVALSHA", scripts::repair.sha1, 4, name, joined{token_prefix, name},
                           node_key, joined{session_prefix, id.view()}, value, milliseconds_of(ttl),
                           at_least.value, nonce);
}

void release(std::string& out, std::string_view name, std::string_view value, unsigned database) {
  if (database != 0) return put_release(out, name, value, "", false, 0, database);
  resp_writer(out).command("EVALSHA", scripts::release.sha1, 1, name, value);
}

void release(std::string& out, std::string_view name, std::string_view value, const call& who) {
  const int counted = who.count ? 1 : 2;
  put_release(out, name, value, who.seat, who.own, who.keep ? counted : 0, who.database);
}

void call_next(std::string& out, std::string_view name, unsigned seat, unsigned database) {
  put_release(out, name, "", seat, false, 0, database);
}

std::size_t renew(std::string& out, const session_id& session, duration ttl, std::string_view nonce,
                  std::span<const held_key> locks) {
  HOLDFAST_ASSERT(locks.size() <= core::redlock::renewal::batch_max);
  const digits_of id(session);
  resp_writer to(out);
  begin(to, scripts::renew, 2 + locks.size(), 2 + locks.size());
  to.argument(node_key);
  to.argument(joined{session_prefix, id.view()});
  put_names(to, locks);
  to.argument(nonce);
  constexpr std::size_t line_end = 2;
  const std::size_t nonce_at = out.size() - line_end - nonce.size();
  to.argument(milliseconds_of(ttl));
  put_values(to, locks);
  return nonce_at;
}

void open(std::string& out, const session_id& session, duration ttl, std::string_view nonce,
          std::span<const std::pair<std::string_view, std::string_view>> fields) {
  const digits_of id(session);
  resp_writer to(out);
  begin(to, scripts::open, 2, 2 + 2 * fields.size());
  to.argument(node_key);
  to.argument(joined{session_prefix, id.view()});
  to.argument(nonce);
  to.argument(milliseconds_of(ttl));
  for (const auto& [field, value] : fields) {
    to.argument(field);
    to.argument(value);
  }
}

void close(std::string& out, const session_id& session) {
  const digits_of id(session);
  resp_writer(out).command("EVALSHA", scripts::close.sha1, 1, joined{session_prefix, id.view()});
}

void deny(std::string& out, const session_id& session, std::string_view nonce, std::string_view by,
          std::string_view why) {
  const digits_of id(session);
  resp_writer(out).command("EVALSHA", scripts::deny.sha1, 2, node_key,
                           joined{session_prefix, id.view()}, nonce, by, why);
}

void session(std::string& out, const session_id& session) {
  const digits_of id(session);
  resp_writer(out).command("HGETALL", joined{session_prefix, id.view()});
}

void list(std::string& out, std::string_view cursor, unsigned count) {
  resp_writer(out).command("EVALSHA", scripts::list.sha1, 0, cursor, count);
}

void quit(std::string& out) { resp_writer(out).command("QUIT"); }

void look(std::string& out) {
  resp_writer(out).command("EVALSHA", scripts::look.sha1, 1, node_key);
}

void seal(std::string& out, const core::redlock::seal& s) {
  HOLDFAST_ASSERT(!s.nonce.empty() && s.epoch > 0);
  resp_writer(out).command("EVALSHA", scripts::seal.sha1, 1, node_key, s.nonce, s.epoch);
}

void write(std::string& out, const core::redlock::write& w) {
  const core::redlock::node_record& r = w.record;
  // Who reads a record without them takes it for none.
  HOLDFAST_ASSERT(!r.id.empty() && !r.nonce.empty() && !r.config_hash.empty());
  resp_writer(out).command("EVALSHA", scripts::write.sha1, 1, node_key, w.nonce_seen, w.epoch_seen,
                           r.id, r.nonce, r.epoch, r.run_id, r.floor, milliseconds_of(r.max_ttl),
                           r.config_hash, r.durable ? 1 : 0, r.kept_epoch);
}

void set_plain(std::string& out, std::string_view name, std::string_view value, duration ttl) {
  resp_writer(out).command("SET", name, value, "NX", "PX", milliseconds_of(ttl));
}

void renew_plain(std::string& out, duration ttl, std::span<const held_key> locks) {
  HOLDFAST_ASSERT(!locks.empty() && locks.size() <= core::redlock::renewal::batch_max);
  resp_writer to(out);
  begin(to, scripts::renew_plain, locks.size(), 1 + locks.size());
  put_names(to, locks);
  to.argument(milliseconds_of(ttl));
  put_values(to, locks);
}

void renew_nothing(std::string& out) {
  resp_writer(out).command("EVALSHA", scripts::renew_plain.sha1, 0, 1);
}

void load(std::string& out, const script& s) { resp_writer(out).command("SCRIPT", "LOAD", s.text); }

void time(std::string& out) { resp_writer(out).command("TIME"); }

void persistence(std::string& out) { resp_writer(out).command("CONFIG", "GET", "*append*"); }

void info(std::string& out) { resp_writer(out).command("INFO"); }

void subscribe(std::string& out, std::string_view channel) {
  resp_writer(out).command("SUBSCRIBE", channel);
}

void unsubscribe(std::string& out, std::string_view channel) {
  resp_writer(out).command("UNSUBSCRIBE", channel);
}

void peek(std::string& out, std::string_view name, bool tokens) {
  resp_writer(out).command(tokens ? "EXISTS" : "GET", name);
}

void size(std::string& out, std::string_view name) { resp_writer(out).command("STRLEN", name); }

void value(std::string& out, std::string_view name) { resp_writer(out).command("GET", name); }

}  // namespace holdfast::engines::redlock::commands
