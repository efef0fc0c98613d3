#include "history/floor_reasons.hpp"
#include "history/lock_machine.hpp"
#include "history/lock_steps.hpp"
#include "history/operations.hpp"
#include "history/register_machine.hpp"
#include "history/register_steps.hpp"
#include "history/search.hpp"
#include "history/shrink.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace holdfast::history {

namespace {

constexpr std::size_t default_memory = std::size_t{256} << 20;
// Some seconds: an explanation is worth no more.
constexpr std::uint64_t tries_to_explain = 20'000'000;

struct finding {
  verdict found{};
  std::uint64_t tries{};
};

/// One object: the steps on it, and what it is held to.
class object {
 public:
  object(model as, std::vector<step> steps, std::size_t memory_max)
      : as_(as), steps_(std::move(steps)), memory_max_(memory_max) {}

  std::size_t size() const noexcept { return steps_.size(); }
  verdict judge() const { return run(steps_).found; }

  /// The indices of lines that alone cannot be ordered.
  std::vector<std::size_t> conflict() const {
    const auto attempt = [&](const std::vector<step>& part) {
      const auto f = run(part);
      return trial{f.found == verdict::violation, f.tries};
    };
    std::vector<std::size_t> lines;
    for (const step& s : shrink(steps_, attempt, tries_to_explain)) lines.push_back(s.line);
    return lines;
  }

 private:
  finding run(const std::vector<step>& part) const {
    if (as_ == model::fenced_register) {
      const auto rest = without_refusals(part);
      if (!rest) return {verdict::violation, part.size()};
      register_machine m(*rest);
      return run(*rest, m);
    }
    const auto whole = with_assumed_grants(part);
    lock_machine m(whole, as_ == model::fenced_mutex ? lock_machine::tokens::growing
                          : as_ == model::semaphore  ? lock_machine::tokens::distinct
                                                     : lock_machine::tokens::ignored);
    return run(whole, m);
  }

  finding run(const std::vector<step>& part, machine& m) const {
    search s(part, m, memory_max_);
    const auto found = s.run();
    return {found, s.tries()};
  }

  model as_;
  std::vector<step> steps_;
  std::size_t memory_max_;
};

/// What the lines on one name show of its kind.
struct traits {
  bool permits{};
  bool shared{};
  bool locked{};  ///< It was held at some time.
  std::size_t grants_without_token{};
  bool fenced_storage{};
  bool written{};

  void look_at(const line& l) {
    fenced_storage = fenced_storage || shows_a_fence(l);
    if (l.outcome != ok) return;
    written = written || l.what == operation::write;
    if (l.what == operation::acquire) {
      permits = permits || l.mode.is_permits();
      shared = shared || l.mode.is_shared();
      if (l.token.value == 0) ++grants_without_token;
    }
    if (l.what == operation::check || l.what == operation::release) proven_ = true;
    if (l.what == operation::acquire) locked = true;
    if (l.what != operation::acquire && l.token.value != 0) named_token_ = true;
  }

  bool is_lock() const { return locked || proven_ || (written && !fenced_storage); }
  model lock_model() const {
    if (permits) return model::semaphore;
    const bool fenced = locked ? grants_without_token == 0 : named_token_;
    return fenced ? model::fenced_mutex : model::mutex;
  }

 private:
  bool proven_{};
  bool named_token_{};
};

const char* rule_of(model m) noexcept {
  switch (m) {
    case model::mutex:
      return "nobody holds it beside an exclusive holder";
    case model::fenced_mutex:
      return "nobody holds it beside an exclusive holder, and no token is given twice or after a "
             "larger one";
    case model::semaphore:
      return "no more than n hold it, and no token is given twice";
    case model::fenced_register:
      return "a token is refused only below the newest that arrived, none takes effect after a "
             "newer one, and a read sees the last write";
  }
  return "unknown";
}

judgement judged(const std::string& lock, model as, std::vector<step> steps,
                 const judge_options& options) {
  const std::size_t memory = options.memory_max == 0 ? default_memory : options.memory_max;
  const object o(as, std::move(steps), memory);
  judgement j{lock, as, o.judge(), o.size(), {}, {}};
  if (j.found == verdict::violation) {
    j.conflict = o.conflict();
    const std::string count = std::to_string(j.conflict.size());
    j.why = count + (count == "1" ? " operation has" : " operations have") + " no order in which " +
            rule_of(as);
  } else if (j.found == verdict::undecided) {
    j.why = std::to_string(memory >> 20) + " MiB of states were not enough for " +
            std::to_string(j.operations) + " operations; nothing is known about this name";
  }
  return j;
}

/// Without tokens nothing is known of their order, neither good nor bad.
judgement without_tokens(const std::string& lock, std::size_t operations, std::size_t grants) {
  return {lock,
          model::fenced_mutex,
          verdict::undecided,
          operations,
          {},
          std::to_string(grants) + (grants == 1 ? " grant has" : " grants have") +
              " no token, as in a store with tokens=off, and a fenced mutex is judged by its "
              "tokens; judge this name by the model mutex"};
}

/// All lines by name, without those that a later line of the same call replaces.
std::map<std::string_view, line_indices> by_name(const std::vector<line>& lines) {
  using call = std::tuple<std::string_view, operation, std::int64_t>;
  std::map<call, std::size_t> open;
  std::vector<bool> replaced(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const call c{lines[i].caller, lines[i].what, lines[i].invoked};
    if (lines[i].outcome == pending) {
      open[c] = i;
    } else if (const auto before = open.find(c); before != open.end()) {
      replaced[before->second] = true;
      open.erase(before);
    }
  }
  std::map<std::string_view, line_indices> names;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!replaced[i] && !lines[i].lock.empty()) names[lines[i].lock].push_back(i);
  }
  return names;
}

}  // namespace

std::vector<judgement> judge(const std::vector<line>& lines, const judge_options& options) {
  std::vector<judgement> all;
  for (const auto& [name, indices] : by_name(lines)) {
    traits t;
    for (const std::size_t i : indices) t.look_at(lines[i]);
    const bool only_storage = options.as == model::fenced_register;
    if (t.is_lock() && !only_storage) {
      const model as = options.as.value_or(t.lock_model());
      const lock_reading reading{.fenced = as == model::fenced_mutex,
                                 .writes_prove = !t.fenced_storage,
                                 .all_exclusive = !t.permits && !t.shared};
      auto steps = lock_steps(lines, indices, reading);
      all.push_back(as == model::fenced_mutex && t.grants_without_token > 0
                        ? without_tokens(std::string(name), steps.size(), t.grants_without_token)
                        : judged(std::string(name), as, std::move(steps), options));
    }
    if ((t.fenced_storage && !options.as) || only_storage) {
      all.push_back(judged(std::string(name), model::fenced_register,
                           register_steps(lines, indices), options));
    }
  }
  return all;
}

}  // namespace holdfast::history
