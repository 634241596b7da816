#pragma once
/// What must hold between a scenario and another that is made from it. docs: tests/metamorphic/README.md.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/metamorphic/draft.hpp"
#include "tests/metamorphic/figures.hpp"

namespace lockstep::test {

struct Subject {
  Draft draft;
  Figures figures;  ///< of the draft as it is
  Random random;
  std::string program;           ///< lockstep
  std::filesystem::path folder;  ///< for files, of this subject alone
};

struct Verdict {
  enum class Kind { holds, does_not_apply, violated };
  Kind kind = Kind::holds;
  double excess = 0;  ///< where a relation has a bound: by how much of the step it is missed
  std::string why;    ///< of a violation: the numbers
  std::string other;  ///< of a violation: the scenario that does not go with the subject's
};

struct Relation {
  std::string_view name;
  Verdict (*check)(Subject&);
};

/// Faster links, kernels or memory may lengthen a step by this much of it, and no more: the README says why and how
/// often.
inline constexpr double anomaly_bound = 0.15;

/// Better routes and places, each collective by itself: shorter ones come in another order on their streams.
inline constexpr double order_bound = 0.01;

/// A mesh is chosen by closed forms of blocks one at a time, so its step may be this much longer than another's.
inline constexpr double choice_bound = 0.10;

/// Times that differ by rounding alone.
inline constexpr double rounding_bound = 1e-9;

/// How far a step at calibrated rates may be from the one that is not folded: kernels and collectives slow each other
/// down, so it comes close to a period that repeats, but never reaches it.
inline constexpr double folded_in_time_bound = 5e-7;

/// All of them, in the order in which they are checked.
[[nodiscard]] const std::vector<Relation>& relations();

// By what they vary.
[[nodiscard]] const std::vector<Relation>& relations_of_form();          ///< what a scenario says in another way
[[nodiscard]] const std::vector<Relation>& relations_of_irregularity();  ///< chips, links, nodes or work not alike
[[nodiscard]] const std::vector<Relation>& relations_of_machine();       ///< rates, routes, places
[[nodiscard]] const std::vector<Relation>& relations_of_program();       ///< what the commands answer

// ---- for their definitions ---------------------------------------------------------------------------

[[nodiscard]] inline Verdict holds(double excess = 0) { return {Verdict::Kind::holds, excess, "", ""}; }
[[nodiscard]] inline Verdict does_not_apply() { return {Verdict::Kind::does_not_apply, 0, "", ""}; }
[[nodiscard]] inline Verdict violated(std::string why, std::string other, double excess = 0) {
  return {Verdict::Kind::violated, excess, std::move(why), std::move(other)};
}

/// The figures of another text; a refusal is a violation where the subject was not refused.
struct Simulated {
  std::string text;
  std::optional<Figures> figures;
};
[[nodiscard]] Simulated simulated(Subject& subject, const Draft& draft, const Speedup& speedup = {}, bool fold = true,
                                  engine::EngineKind engine = engine::EngineKind::simgrid);
/// How far times may be apart that differ by rounding alone: rounding_bound, or what the step makes of a change of
/// 2^-40 in its compute rates, if that is more. Collectives that meet on a link again and again may double a difference
/// each time (one of jittered chips made 2e-7 of 1e-11), so what a step makes of the last digits is asked of it.
[[nodiscard]] double rounding_of(Subject& subject, double distance);
/// The most that any time differs between them, over the step of `a`.
[[nodiscard]] double apart(const Figures& a, const Figures& b);
/// The subject without what is drawn by chip or link: those of another network are others.
[[nodiscard]] Draft unperturbed(const Draft& draft);
/// Its figures.
[[nodiscard]] Simulated simulated_unperturbed(Subject& subject);

}  // namespace lockstep::test
