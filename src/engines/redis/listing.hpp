#pragma once

#include "core/engine.hpp"
#include "engines/redis/master.hpp"
#include "engines/redis/replies.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::engines::redis {

/// The pages of one listing, put together: of a session that came twice what came last, with the
/// entries that it had then. Pure.
class picture {
 public:
  /// False: it is of another life of the data, and these are no picture.
  bool add(std::string_view life, const replies::list_page& p);
  /// Sessions and entries.
  std::size_t size() const noexcept { return size_; }
  /// `revision` is a fingerprint of what is shown.
  core::listing shown() const;

 private:
  struct member {
    core::session_record record{};
    std::vector<replies::list_page::named_entry> entries{};
  };
  std::string life_;
  std::map<session_id, member> members_;
  std::size_t size_{};
};

/// One listing: a small store in one script, and so in one moment; a large one page by page, for
/// the server does nothing else while it runs a script.
///
/// Thread safety: start() once; it keeps itself alive until it has answered.
class listing : public std::enable_shared_from_this<listing> {
 public:
  listing(std::shared_ptr<master> server, core::on<core::listing> done)
      : server_(std::move(server)), done_(std::move(done)) {}
  void start() { ask(); }

 private:
  /// The next page, in the life of the data that is known then.
  void ask();
  /// Of another life than the pages before it is no part of one picture.
  void took(const master::answer& a);
  void refuse(const core::reply& why);

  const std::shared_ptr<master> server_;
  const core::on<core::listing> done_;
  picture picture_;
  std::string life_;    ///< Of the data, in which the page is asked for.
  std::string cursor_;  ///< Empty: nothing was read yet.
  std::vector<session_id> rest_;
  std::size_t pages_{};
};

}  // namespace holdfast::engines::redis
