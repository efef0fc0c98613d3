#include <holdfast/fenced.hpp>

#include "client/await.hpp"
#include "client/failure.hpp"
#include "client/operator_view.hpp"
#include "client/store_core.hpp"
#include "core/invalid.hpp"
#include "core/queue.hpp"
#include "fence/floor_file.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

/// The order makes it safe: the denial, after which the session gets no new lock; the floors, above
/// which nothing of its is taken; and only then its record, whose removal lets the next one in. A
/// step that fails leaves a session that is denied, and its locks fall by the ttl.

namespace holdfast {

namespace {

constexpr std::string_view mark = "fenced=";
constexpr int takes_max = 5;

using core::invalid;

/// One replacement under way.
class replacement {
 public:
  replacement(std::shared_ptr<client::store_core> store, session_id id, std::string_view url,
              const replace_options& options)
      : store_(std::move(store)), id_(id), url_(url), options_(options) {}

  result<std::vector<fenced_lock>> run() {
    using client::operator_view;
    if (auto good = operator_view::check_reason(options_.by, options_.why); !good) {
      return good.error();
    }
    if (auto good = look(); !good) return good.error();
    // Behind all that may refuse the replacement itself, or a plan that was seen to be good could
    // fail.
    if (options_.dry_run) return locks_;
    operator_view view(store_);
    if (auto denied = view.deny(id_, options_.by, options_.why); !denied) return denied.error();
    if (auto reported = tell(replacing::denied, nullptr); !reported) return reported.error();
    // Since the denial it gets no lock: what it holds now is all that it can write under.
    if (auto good = look(); !good) return good.error();
    for (const auto& l : locks_) {
      if (auto raised = raise(l); !raised) return raised.error();
      if (auto reported = tell(replacing::raised, &l); !reported) return reported.error();
    }
    if (auto freed = free(); !freed) return freed.error();
    if (auto reported = tell(replacing::freed, nullptr); !reported) return reported.error();
    return locks_;
  }

 private:
  result<void> tell(replacing step, const fenced_lock* l) const {
    return options_.on_step ? options_.on_step(step, l) : result<void>();
  }

  result<core::listing> ask() const {
    auto l = client::call(store_->engine(), &core::engine::list);
    if (l.what != core::status::ok) return client::look_failure(l, "listing", store_->url());
    return l;
  }

  /// Reads the session and its locks, and refuses what cannot be replaced.
  result<void> look() {
    const auto all = ask();
    if (!all) return all.error();
    const auto at = std::ranges::find(all->sessions, id_, &core::session_record::id);
    if (at == all->sessions.end()) {
      return invalid("there is no session " + id_.str() + " in " + store_->url());
    }
    record_ = *at;
    const std::string where = fenced_where(at->owner);
    if (where != url_) {
      return invalid("session " + id_.str() +
                     (where.empty() ? " was opened without a fence"
                                    : " is fenced at " + lock_name(where).printable()) +
                     ", so it cannot be replaced at " + lock_name(url_).printable() +
                     ": its locks fall by the ttl, `holdfast deny` without --raise-fence");
    }
    locks_.clear();
    for (const auto& l : all->locks) {
      if (auto read = look_at(l); !read) return read;
    }
    for (const auto& l : locks_) {
      if (auto seen = look_at_fence(l); !seen) return seen;
    }
    return {};
  }

  result<void> look_at(const core::listed_lock& l) {
    for (const auto& e : l.entries) {
      if (e.owner != id_ || !core::granted(l.entries, e.order)) continue;
      if (!e.how.is_exclusive()) {
        return error(errc::unsupported,
                     "session " + id_.str() + " holds " + l.name.printable() +
                         " together with others, whose writes a higher floor would refuse, too; "
                         "it falls by its ttl");
      }
      // Above its own token, so that the fence refuses the holder itself, too.
      locks_.push_back({l.name, e.order, token{e.order.value + 1}});
    }
    return {};
  }

  result<void> raise(const fenced_lock& l) const {
    auto f = fence::open(url_, l.name.str(), older_passes::wait, missing::refuse);
    if (!f) return f.error();
    return f->raise(l.floor, {.wait = options_.wait, .stop = options_.stop});
  }

  /// Only where the holder's own token was admitted: another machine has another file by the same
  /// name, and a resource of another name is not what guards the writes.
  result<void> look_at_fence(const fenced_lock& l) const {
    const auto f = fence::open(url_, l.name.str(), older_passes::wait, missing::refuse);
    if (!f) return f.error();
    const auto store = store_->identity();
    if (!store) return store.error();
    const std::string where = "the resource " + l.name.printable() + " in " + url_;
    const auto bound = f->source();
    if (!bound || f->newest() < l.held) {
      return invalid(where + " has not seen token " + std::to_string(l.held.value) +
                     " of the holder: this is another file than the holder's (another machine or "
                     "container), or it checks another resource; it falls by its ttl, `holdfast "
                     "deny` without --raise-fence");
    }
    if (*bound != token_source{*store, l.name}) {
      return invalid(where + " is bound to " + bound->printable() +
                     ", not to this lock; its floor was not raised");
    }
    return {};
  }

  // A heartbeat that was under way when it was denied may still change the version once.
  result<void> free() {
    for (int i = 0; i < takes_max; ++i) {
      const core::take_request r{id_, record_->at};
      const auto reply = client::call(store_->engine(), &core::engine::take, r);
      if (reply.what == core::status::ok || reply.what == core::status::gone) {
        return {};
      }
      if (reply.what != core::status::changed) {
        return client::failure(reply, "remove session " + id_.str(), store_->url());
      }
      record_->at = reply.at;
      if (!reply.at.denied) break;
    }
    return error(errc::busy, "session " + id_.str() + " has changed meanwhile; try again");
  }

  std::shared_ptr<client::store_core> store_;
  session_id id_;
  std::string url_;
  const replace_options& options_;
  std::optional<core::session_record> record_;
  std::vector<fenced_lock> locks_;
};

}  // namespace

result<session_options> fenced_at(std::string_view fence_url, session_options options) {
  if (auto path = fencing::floor_file::path_in(fence_url); !path) return path.error();
  if (!options.label.empty()) options.label += ' ';
  options.label.append(mark).append(fence_url);
  owner_info read_back;
  read_back.label = options.label;
  // A path that cannot be told from the label any more would count as no fence when it is needed.
  if (fenced_where(read_back) != fence_url) {
    return invalid("the path of a fence that a session names has no ' fenced=' in it, as " +
                   lock_name(std::string(fence_url)).printable() + " has");
  }
  if (options.label.size() <= session_options::text_max) return options;
  return invalid("the label and " + lock_name(std::string(fence_url)).printable() +
                 " together have more than " + std::to_string(session_options::text_max) +
                 " bytes");
}

/// The last one that begins a word: the path behind it may have the same letters.
std::string fenced_where(const owner_info& owner) {
  const std::string& label = owner.label;
  auto at = label.rfind(mark);
  while (at != std::string::npos && at != 0 && label[at - 1] != ' ') at = label.rfind(mark, at - 1);
  return at == std::string::npos ? std::string() : label.substr(at + mark.size());
}

const char* name_of(replacing step) noexcept {
  switch (step) {
    case replacing::denied:
      return "denied";
    case replacing::raised:
      return "raised";
    case replacing::freed:
      return "freed";
  }
  return "unknown";
}

result<std::vector<fenced_lock>> replace_fenced(std::string_view store_url, session_id id,
                                                std::string_view fence_url,
                                                const replace_options& options) {
  auto store = client::store_core::open(store_url, missing::refuse);
  if (!store) return store.error();
  if (const auto& why = (*store)->opened().cannot_break; !why.empty()) {
    return error(errc::unsupported, "replace the holder in " + (*store)->url() + ": " + why);
  }
  if (auto may = (*store)->may_wait("replace the holder"); !may) return may.error();
  return replacement(std::move(*store), id, fence_url, options).run();
}

}  // namespace holdfast
