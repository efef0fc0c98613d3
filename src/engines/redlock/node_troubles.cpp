#include "engines/redlock/node_troubles.hpp"

#include "engines/redlock/replies.hpp"

namespace holdfast::engines::redlock {

/// Of many that say which command one is enough.
void node_troubles::note(const cluster& c, node_index i, core::redlock::fault why,
                         const io::redis_answer& a) {
  trouble_ += "; " + c.addresses()[i] + " " + core::redlock::action_on(why).text;
  if (why == core::redlock::fault::permission) refusing_.add(i);
  if (!replies::text_says_more(why) || a.reply == nullptr || !refusal_.empty()) return;
  refusal_ = "; " + c.addresses()[i] + " said: " + replies::error_text(*a.reply);
}

void node_troubles::explain(core::reply& into, const cluster& c, std::size_t answered,
                            std::string_view did, const result<void>& verdict) const {
  // As of a lock that they do not let this user take.
  const bool is_refused = refusing_.size() > core::redlock::spare(c.size());
  into.what = is_refused ? core::status::invalid : core::status::unavailable;
  into.text = std::to_string(answered) + " of " + std::to_string(c.size()) + " nodes " +
              std::string(did) + ", needed are " + std::to_string(c.majority()) + trouble_ +
              refusal_;
  if (!verdict) into = reply_of(verdict.error());
}

}  // namespace holdfast::engines::redlock
