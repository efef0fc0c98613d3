#pragma once

#include "history/machine.hpp"

#include <vector>

namespace holdfast::history {

/// A leased lock: grants, and the proofs that they are held.
///
/// A grant may fall silently at any moment, and nobody hears of it. Falling right after its last
/// proof is the best it can do for everybody else, so that is when it falls here.
class lock_machine final : public machine {
 public:
  /// What the tokens of grants must be like.
  enum class tokens : std::uint8_t {
    ignored,
    distinct,  ///< Never given twice.
    growing,   ///< Also: an exclusive one larger than all before, all larger than it after it.
  };

  /// For these steps, each of which is done at most once. Every grant that has a proof is there.
  lock_machine(const std::vector<step>& steps, tokens t);

  bool apply(const step& s) override;
  void undo() override;
  bool is_harmless(const step& s) const override;
  bool is_past(const step&) const override { return false; }
  void describe(state_key&) const override {}

 private:
  enum class phase : std::uint8_t { awaited, held, over };
  struct grant {
    phase now = phase::awaited;
    bool is_repeated = false;  ///< Another grant has its token.
    mode how = mode::exclusive();
    std::size_t proofs_left{};
    std::size_t smaller{};            ///< Grants with a smaller token.
    std::size_t smaller_exclusive{};  ///< Exclusive ones among them.
  };
  struct totals {
    std::size_t granted{};
    std::size_t granted_exclusive{};
    std::size_t holders{};
    mode how = mode::exclusive();  ///< Of the holders, when there are any.
  };
  struct memory {
    std::size_t which;
    phase was;
    std::size_t proofs_left;
    totals all;
  };

  /// How many tokens have to be granted before each one's.
  void rank(const std::vector<step>& steps);
  /// The tokens allow it here.
  bool is_next(const grant& g) const noexcept;
  /// The holders allow it here.
  bool has_room(const mode& how) const noexcept;
  /// Also of one that is no holder any more.
  void end(grant& g) noexcept;

  tokens tokens_;
  std::vector<grant> grants_;
  totals all_;
  std::vector<memory> done_;
};

}  // namespace holdfast::history
