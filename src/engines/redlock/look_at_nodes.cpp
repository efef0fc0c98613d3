#include "engines/redlock/look_at_nodes.hpp"

#include "engines/redlock/commands.hpp"
#include "engines/redlock/gathering.hpp"
#include "engines/redlock/replies.hpp"
#include "io/process/process_identity.hpp"
#include "io/thread/latch.hpp"

#include <holdfast/duration.hpp>

#include <chrono>
#include <utility>

namespace holdfast::engines::redlock {

void wait_ready(const std::shared_ptr<cluster>& c) {
  const auto done = std::make_shared<io::latch>();
  const duration limit = ready_limit + return_timeouts * c->set().timeout_for(c->set().max_ttl);
  c->when_ready(
      clock::now() + limit, [done] { done->open(); }, cluster::readiness::settled);
  done->wait();
}

std::vector<node_time> times_of(const std::shared_ptr<cluster>& c) {
  struct asked {
    std::vector<node_time> times;
    io::latch done;
  };
  const auto all = std::make_shared<asked>();
  all->times.assign(c->size(), {.sent = io::wall_now()});
  gathering::question q;
  q.to = node_set::all(c->size());
  q.limit = inquiry_limit;
  q.bytes = [](node_index) {
    std::string bytes;
    commands::time(bytes);
    return bytes;
  };
  q.each = [all](node_index i, const io::redis_answer& a) {
    const reading<server_time> at = a.reply == nullptr ? fault::silent : replies::time(*a.reply);
    all->times[i].received = io::wall_now();
    if (at) all->times[i].at = *at;
    return false;
  };
  q.done = [all] { all->done.open(); };
  gathering::ask(c, std::move(q));
  all->done.wait();
  return all->times;
}

std::string offset_text(const node_time& t) {
  using std::chrono::milliseconds;
  const auto half = (t.received - t.sent) / 2;
  const auto off = t.at - (t.sent + half).time_since_epoch();
  const auto bound = std::chrono::ceil<milliseconds>(half).count();
  const auto ms = std::chrono::duration_cast<milliseconds>(off).count();
  const auto far = ms < 0 ? -ms : ms;
  // A difference that the time of the question and its answer explains is none.
  if (far <= bound)
    return "its clock is within " + std::to_string(far + bound) + " ms of this host's";
  return "its clock is " + std::string(ms < 0 ? "-" : "+") + std::to_string(far) + " ms (+-" +
         std::to_string(bound) + " ms) from this host's";
}

std::vector<figure> offset_figures(const node_time& t) {
  if (t.at.count() == 0) return {};
  const auto seconds = [](auto d) { return std::chrono::duration<double>(d).count(); };
  const auto half = (t.received - t.sent) / 2;
  return {{"clock_offset_s", seconds(t.at - (t.sent + half).time_since_epoch())},
          {"clock_offset_bound_s", seconds(half)}};
}

std::string text_of(const io::redis_facts& server, const char* key) {
  const auto found = server.info.find(key);
  return found == server.info.end() ? std::string() : found->second;
}

std::string unsafe_setting(const io::redis_facts& server) {
  const std::string limit = text_of(server, "maxmemory");
  const std::string policy = text_of(server, "maxmemory_policy");
  if (limit.empty() || limit == "0" || policy.empty() || policy == "noeviction") return {};
  return "drops keys when its memory limit is reached (maxmemory-policy " + policy +
         "): a held lock can vanish. Set maxmemory-policy noeviction";
}

}  // namespace holdfast::engines::redlock
