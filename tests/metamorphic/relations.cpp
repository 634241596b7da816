#include "tests/metamorphic/relations.hpp"

namespace lockstep::test {

Simulated simulated(Subject& subject, const Draft& draft, const Speedup& speedup, bool fold) {
  const auto text = draft.text(speedup);
  return {text, simulated(text, subject.folder, fold)};
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
    for (const auto* some : {&relations_of_form(), &relations_of_machine(), &relations_of_program()})
      list.insert(list.end(), some->begin(), some->end());
    return list;
  }();
  return all;
}

}  // namespace lockstep::test
