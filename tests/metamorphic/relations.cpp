#include "tests/metamorphic/relations.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::test {

Simulated simulated(Subject& subject, const Draft& draft, const Speedup& speedup, bool fold,
                    engine::EngineKind engine) {
  const auto text = draft.text(speedup);
  return {text, simulated(text, subject.folder, fold, engine)};
}

double rounding_of(Subject& subject, double distance) {
  double bound = rounding_bound;
  if (distance <= bound) return bound;
  for (const double compute : {1 + 0x1p-40, 1 - 0x1p-40}) {
    if (const auto nudged = simulated(subject, subject.draft, {.compute = compute}); nudged.figures)
      bound = std::max(bound, apart(subject.figures, *nudged.figures));
  }
  return bound;
}

double apart(const Figures& a, const Figures& b) {
  double worst = 0;
  for (const auto time : {&Figures::step_s, &Figures::compute_s, &Figures::exposed_s, &Figures::bubble_s})
    worst = std::max(worst, std::abs(a.*time - b.*time) / a.step_s);
  return worst;
}

Draft unperturbed(const Draft& draft) {
  auto copy = draft;
  copy.remove("perturbations");
  return copy;
}

Simulated simulated_unperturbed(Subject& subject) {
  if (!subject.draft.has("perturbations")) return {subject.draft.text(), subject.figures};
  return simulated(subject, unperturbed(subject.draft));
}

const std::vector<Relation>& relations() {
  static const auto all = [] {
    std::vector<Relation> list;
    for (const auto* some :
         {&relations_of_form(), &relations_of_irregularity(), &relations_of_machine(), &relations_of_program()})
      list.insert(list.end(), some->begin(), some->end());
    return list;
  }();
  return all;
}

}  // namespace lockstep::test
