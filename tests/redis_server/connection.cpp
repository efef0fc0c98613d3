#include "tests/redis_server/connection.hpp"

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <stdexcept>
#include <utility>

namespace holdfast::redis_tests {

namespace {

answer answer_of(const redisReply& r) {
  answer a;
  switch (r.type) {
    case REDIS_REPLY_STATUS:
      a.is = answer::kind::status;
      break;
    case REDIS_REPLY_ERROR:
      a.is = answer::kind::error;
      break;
    case REDIS_REPLY_STRING:
      a.is = answer::kind::text;
      break;
    case REDIS_REPLY_INTEGER:
      a = integer(r.integer);
      break;
    case REDIS_REPLY_ARRAY:
      a.is = answer::kind::array;
      for (std::size_t i = 0; i < r.elements; ++i) a.elements.push_back(answer_of(*r.element[i]));
      break;
    default:
      break;
  }
  const bool has_text =
      a.is == answer::kind::status || a.is == answer::kind::error || a.is == answer::kind::text;
  if (has_text) a.text.assign(r.str, static_cast<std::size_t>(r.len));
  return a;
}

timeval timeval_of(std::chrono::milliseconds t) {
  return {.tv_sec = t.count() / 1000, .tv_usec = t.count() % 1000 * 1000};
}

answer taken(void* reply) {
  const answer a = answer_of(*static_cast<redisReply*>(reply));
  freeReplyObject(reply);
  return a;
}

}  // namespace

std::string_view answer::error_word() const {
  if (is != kind::error) return {};
  return std::string_view(text).substr(0, text.find(' '));
}

answer integer(std::int64_t value) {
  answer a;
  a.is = answer::kind::integer;
  a.integer = value;
  return a;
}

answer text(std::string value) {
  answer a;
  a.is = answer::kind::text;
  a.text = std::move(value);
  return a;
}

answer null() { return {}; }

answer array(std::vector<answer> elements) {
  answer a;
  a.is = answer::kind::array;
  a.elements = std::move(elements);
  return a;
}

std::ostream& operator<<(std::ostream& out, const answer& a) {
  switch (a.is) {
    case answer::kind::null:
      return out << "(nil)";
    case answer::kind::status:
      return out << a.text;
    case answer::kind::error:
      return out << "(error) " << a.text;
    case answer::kind::integer:
      return out << "(integer) " << a.integer;
    case answer::kind::text:
      return out << '"' << a.text << '"';
    case answer::kind::lost:
      return out << "(lost) " << a.text;
    case answer::kind::array:
      break;
  }
  out << '[';
  const char* between = "";
  for (const answer& e : a.elements) out << std::exchange(between, ", ") << e;
  return out << ']';
}

void connection::closes::operator()(redisContext* c) const noexcept { redisFree(c); }

connection::connection(redisContext* c, std::chrono::milliseconds patience)
    : context_(c), patience_(patience) {
  if (c == nullptr) throw std::runtime_error("no memory for a connection");
  if (open()) set_patience(patience_);
}

connection connection::tcp(int port, std::chrono::milliseconds patience) {
  return {redisConnectWithTimeout("127.0.0.1", port, timeval_of(patience)), patience};
}

connection connection::unix_socket(const std::string& path) {
  constexpr std::chrono::seconds patience{10};
  return {redisConnectUnixWithTimeout(path.c_str(), timeval_of(patience)), patience};
}

bool connection::open() const { return context_->err == 0; }

void connection::set_patience(std::chrono::milliseconds limit) {
  redisSetTimeout(context_.get(), timeval_of(limit));
}

void connection::send(const std::vector<std::string>& parts) {
  std::vector<const char*> bytes;
  std::vector<std::size_t> sizes;
  for (const std::string& p : parts) {
    bytes.push_back(p.data());
    sizes.push_back(p.size());
  }
  const int count = static_cast<int>(parts.size());
  redisAppendCommandArgv(context_.get(), count, bytes.data(), sizes.data());
  int written = 0;
  while (written == 0 && redisBufferWrite(context_.get(), &written) == REDIS_OK) {
  }
}

answer connection::command(const std::vector<std::string>& parts) {
  if (open()) send(parts);
  void* reply = nullptr;
  if (open() && redisGetReply(context_.get(), &reply) == REDIS_OK) return taken(reply);
  answer lost;
  lost.is = answer::kind::lost;
  lost.text = context_->errstr;
  return lost;
}

std::optional<answer> connection::read(std::chrono::milliseconds limit) {
  set_patience(limit);
  void* reply = nullptr;
  const bool came = open() && redisGetReply(context_.get(), &reply) == REDIS_OK;
  if (open()) set_patience(patience_);
  if (!came) return std::nullopt;
  return taken(reply);
}

}  // namespace holdfast::redis_tests
