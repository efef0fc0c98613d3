#pragma once

#include "sim/oracle.hpp"
#include "sim/process.hpp"

#include "core/claim.hpp"

#include <optional>
#include <string>

namespace holdfast::sim {

class session_driver;

/// A user of one session: acquires a name, works while check() allows, releases, and again.
///
/// It does what each core::claim says, as the library's client does.
class worker {
 public:
  worker(context& c, oracle& judge, session_driver& s);

  void start();
  void session_over(errc why, const std::string& text);
  bool resting() const noexcept { return state_ == state::resting; }

 private:
  enum class state : std::uint8_t { resting, claiming, holding, releasing };

  void rest_a_while();
  void acquire();
  core::sightings& kept_notes();
  mode choose_mode();
  core::claim::config choose_wait();
  void plan_cancel();

  void perform(core::action a);
  void act_on(const core::act::enqueue& a);
  void act_on(const core::act::probe& a);
  void act_on(const core::act::take& a);
  void act_on(const core::act::watch& a);
  void act_on(const core::act::confirm& a);
  void act_on(const core::act::leave& a);
  void act_on(const core::act::rest& a);
  void act_on(const core::act::finish& a);
  void hint_at_deaths(const core::act::watch& a);
  void arm();

  void hold();
  void work();
  void release(bool move_gate);
  void end_case();
  void note(const char* what, std::int64_t number);
  time_point now() const noexcept;
  template <class F>
  void later(moment when, F f);

  context& context_;
  oracle& judge_;
  session_driver& session_;
  state state_{state::resting};
  std::optional<core::claim> claim_;
  std::uint64_t round_{};  ///< Of the claim; answers to an earlier one are void.
  std::uint64_t timer_{};
  std::uint64_t serial_{};
  std::uint64_t request_{};
  int name_{};
  lock_name full_name_{""};
  mode how_{mode::exclusive()};
  moment hold_until_{};
  token held_{};
};

}  // namespace holdfast::sim
