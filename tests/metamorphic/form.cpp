// What a scenario says in another way gives the same step; more work needs no less memory.
#include <cmath>

#include "tests/metamorphic/relations.hpp"

namespace lockstep::test {
namespace {

constexpr double rounding = 1e-9;  // of times that other factors make
constexpr double folded_rounding = 1e-12;
constexpr double most_unfolded = 4e5;  // operations over all ranks

Verdict alike(const Figures& figures, const Simulated& other, double tolerance, double factor = 1) {
  if (!other.figures) return violated("the other is refused", other.text);
  const double distance = apart(figures, *other.figures, factor);
  if (distance <= tolerance && figures.peak_bytes == other.figures->peak_bytes) return holds(distance);
  return violated(to_string(figures) + "\n" + to_string(*other.figures), other.text, distance);
}

/// All rates times k, all times over k: every time over k, the same memory. Exactly so for powers of two.
Verdict scaling(Subject& subject, double k, double tolerance) {
  return alike(subject.figures, simulated(subject, subject.draft, Speedup::of_all(k)), tolerance, k);
}
Verdict four_times_as_fast(Subject& subject) { return scaling(subject, 4, rounding); }
Verdict a_third_as_fast(Subject& subject) { return scaling(subject, 1.0 / 3, rounding); }

Verdict folding(Subject& subject) {
  if (subject.figures.operations > most_unfolded) return does_not_apply();
  return alike(subject.figures, simulated(subject, subject.draft, {}, false),
               subject.draft.has("perturbations") ? folded_rounding : 0);
}

Verdict order_of_keys(Subject& subject) {
  return alike(subject.figures, simulated(subject, subject.draft.reordered(subject.random)), 0);
}

/// Names that sort the other way round.
Verdict names(Subject& subject) {
  auto renamed = subject.draft;
  for (const auto& [from, to] : {std::pair{"red", "zinc"},
                                 {"blue", "ash"},
                                 {"a chip", "another"},
                                 {"swift", "zeta"},
                                 {"wide", "alpha"},
                                 {"outward", "zeal"},
                                 {"wires", "aloft"},
                                 {"combine", "ask"}})
    renamed.rename(from, to);
  return alike(subject.figures, simulated(subject, renamed), 0);
}

/// The chip's memory only says whether a step fits.
Verdict memory_size(Subject& subject) {
  Speedup larger;
  larger.capacity = 4;
  return alike(subject.figures, simulated(subject, subject.draft, larger), 0);
}

Verdict no_less_memory(Subject& subject, const Draft& more) {
  const auto other = simulated(subject, more);
  if (!other.figures) return does_not_apply();  // a schedule may refuse a number of microbatches
  const double missing =
      (subject.figures.peak_bytes - other.figures->peak_bytes) / std::max(subject.figures.peak_bytes, 1.0);
  return missing <= memory_bound
             ? holds(std::max(missing, 0.0))
             : violated(to_string(subject.figures) + "\n" + to_string(*other.figures), other.text, missing);
}

Verdict larger_microbatches(Subject& subject) {
  auto larger = subject.draft;
  larger.set("batch.sequences", 2 * subject.draft.number("batch.sequences"));
  return no_less_memory(subject, larger);
}

Verdict more_microbatches(Subject& subject) {
  auto more = subject.draft;
  for (const auto* key : {"batch.sequences", "batch.microbatches"}) more.set(key, 2 * subject.draft.number(key));
  return no_less_memory(subject, more);
}

}  // namespace

const std::vector<Relation>& relations_of_form() {
  static const std::vector<Relation> list{{"four times as fast", four_times_as_fast},
                                          {"a third as fast", a_third_as_fast},
                                          {"folding", folding},
                                          {"order of keys", order_of_keys},
                                          {"names", names},
                                          {"size of memory", memory_size},
                                          {"larger microbatches", larger_microbatches},
                                          {"more microbatches", more_microbatches}};
  return list;
}

}  // namespace lockstep::test
