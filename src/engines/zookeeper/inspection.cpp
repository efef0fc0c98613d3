#include "engines/zookeeper/inspection.hpp"

#include "engines/zookeeper/answer_codes.hpp"
#include "io/zookeeper/zookeeper_word.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <future>
#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

using namespace std::chrono_literals;

std::int64_t number_of(const std::string& text) {
  std::int64_t value{};
  const auto bad = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  return bad == std::errc() ? std::max<std::int64_t>(value, 0) : 0;
}

inspection::one_server look_at(const io::node_address& server, duration limit) {
  inspection::one_server seen{.name = server.text()};
  const auto told = io::ask_zookeeper(server, "srvr", limit);
  if (!told) {
    seen.trouble = told.error().message();
    return seen;
  }
  // "3.8.0-HASH, built on ..."
  const auto version = value_in(*told, "Zookeeper version: ");
  seen.version = version.substr(0, version.find_first_not_of("0123456789."));
  seen.mode = value_in(*told, "Mode: ");
  if (seen.mode.empty()) {
    seen.trouble = "ZooKeeper server " + seen.name + " says: " + told->substr(0, told->find('\n'));
  }
  // This word and the next may be missing in the server's whitelist: then nothing is known of them.
  const auto counts = io::ask_zookeeper(server, "mntr", limit);
  seen.has_local_sessions = counts && number_of(value_in(*counts, "zk_local_sessions\t")) > 0;
  const auto settings = io::ask_zookeeper(server, "conf", limit);
  if (!settings) return seen;
  const auto ticks = number_of(value_in(*settings, "syncLimit="));
  const auto tick = number_of(value_in(*settings, "tickTime="));
  // Whatever a peer says, the product fits.
  if (tick < 3'600'000 && ticks < 10'000) seen.silence = std::chrono::milliseconds(tick) * ticks;
  return seen;
}

/// One write of a node that nobody reads the data of, and who else might write, waited for.
batch_result write(const std::shared_ptr<ensemble>& e) {
  const auto promised = std::make_shared<std::promise<batch_result>>();
  auto got = promised->get_future();
  e->shared_loop()->post([e, promised] {
    const auto& at = e->where();
    e->send({put(at.queues(), {}), access_of(at.queues()), access_of(at.sessions())}, repeat::never,
            [promised](batch_result l) { promised->set_value(std::move(l)); });
  });
  const auto limit = 3 * e->set().node_timeout + 1s;
  if (got.wait_for(limit) != std::future_status::ready)
    return {{core::status::unavailable, "no answer in time"}};
  return got.get();
}

}  // namespace

std::string value_in(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    if (line.starts_with(key)) return std::string(line.substr(key.size()));
    at = end + 1;
  }
  return {};
}

bool is_before(std::string_view version, std::string_view other) {
  const auto parts = [](std::string_view text) {
    std::array<int, 3> all{};
    for (auto& part : all) {
      const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), part);
      if (bad != std::errc()) return std::pair(all, false);
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
      if (text.starts_with('.')) text.remove_prefix(1);
    }
    return std::pair(all, true);
  };
  const auto [left, left_good] = parts(version);
  const auto [right, right_good] = parts(other);
  return left_good && right_good && left < right;
}

std::vector<inspection::one_server> look_at_servers(const settings& set) {
  std::vector<inspection::one_server> all;
  for (const auto& server : set.servers) all.push_back(look_at(server, set.node_timeout));
  return all;
}

inspection inspect(const std::shared_ptr<ensemble>& e) {
  inspection seen{.servers = look_at_servers(e->set())};
  const auto l = write(e);
  if (l.what != core::status::ok) {
    seen.trouble = l.text;
  } else if (!l.replies[0].ok()) {
    seen.trouble = refusal_text(l.replies[0].code, e->set());
  } else {
    seen.open_to_all = l.replies[1].open_to_all || l.replies[2].open_to_all;
  }
  return seen;
}

}  // namespace holdfast::engines::zookeeper
