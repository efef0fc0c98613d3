#pragma once

#include "sim/context.hpp"
#include "sim/oracle.hpp"
#include "sim/outcome.hpp"
#include "sim/process.hpp"
#include "sim/store.hpp"

#include <memory>
#include <vector>

namespace holdfast::sim {

/// One run: everything that follows from one scenario and one seed.
class world {
 public:
  world(const scenario& s, std::uint64_t seed);

  outcome run();
  void print_all() noexcept { context_.log.print_all(); }

 private:
  void build();
  void every(duration mean, void (world::*what)());
  void audit();
  void pause_somebody();
  void kill_somebody();
  void silence_a_store();
  void cut_somebody();
  void deny_somebody();
  void close_somebody();
  void change_a_clock();
  void replace_the_dead();
  process& somebody();
  process& victim();  ///< Holders are hit more often: there it matters.
  session_driver* some_session();

  context context_;
  oracle judge_;
  std::vector<std::unique_ptr<store>> stores_;
  std::vector<std::unique_ptr<process>> processes_;
};

}  // namespace holdfast::sim
