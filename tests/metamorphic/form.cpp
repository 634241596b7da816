// What a scenario says in another way gives the same step; more work needs no less memory.
#include <cmath>

#include "tests/metamorphic/relations.hpp"

namespace lockstep::test {
namespace {

constexpr double folded_rounding = 1e-12;
constexpr double most_unfolded = 4e5;  // operations over all ranks

Verdict alike(const Figures& figures, const Simulated& other, double tolerance) {
  if (!other.figures) return violated("the other is refused", other.text);
  const double distance = apart(figures, *other.figures);
  if (distance <= tolerance && figures.peak_bytes == other.figures->peak_bytes) return holds(distance);
  return violated(to_string(figures) + "\n" + to_string(*other.figures), other.text, distance);
}

Verdict alike_but_for_rounding(Subject& subject, const Simulated& other) {
  return alike(subject.figures, other,
               other.figures ? rounding_of(subject, apart(subject.figures, *other.figures)) : rounding_bound);
}

Figures as_slow(Figures figures, double k) {
  for (const auto time : {&Figures::step_s, &Figures::compute_s, &Figures::exposed_s, &Figures::bubble_s})
    figures.*time *= k;
  return figures;
}

/// All rates times k, all times over k: every time over k, the same memory. Exactly so for powers of two.
Verdict scaling(Subject& subject, double k) {
  auto other = simulated(subject, subject.draft, Speedup::of_all(k));
  if (other.figures) *other.figures = as_slow(*other.figures, k);
  return alike_but_for_rounding(subject, other);
}
Verdict four_times_as_fast(Subject& subject) { return scaling(subject, 4); }
Verdict a_third_as_fast(Subject& subject) { return scaling(subject, 1.0 / 3); }

/// SimGrid, which the subject ran on, and our own solver share links alike.
Verdict engines(Subject& subject) {
  return alike_but_for_rounding(subject, simulated(subject, subject.draft, {}, true, engine::EngineKind::max_min));
}

Verdict folding(Subject& subject) {
  if (subject.figures.operations > most_unfolded) return does_not_apply();
  return alike(subject.figures, simulated(subject, subject.draft, {}, false),
               subject.draft.value("model_of_time") == "calibrated" ? folded_in_time_bound
               : subject.draft.has("perturbations")                 ? folded_rounding
                                                                    : 0);
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

/// Where collectives take next to no time. Otherwise gradients that wait for their reduction fill the more memory the
/// shorter the passes between them are: a step of half the sequences had one of 3584 x 4096 in fp32 more (58.7 MB) at
/// its peak, and 512 tokens of 4096 in bf16 less (4.2 MB), 8 % of it in all.
Verdict no_less_memory(Subject& subject, const Draft& more) {
  constexpr double fast = 0x1p10;
  const Speedup links{.link = fast, .host = fast, .latency = fast};
  const auto one = simulated(subject, subject.draft, links), other = simulated(subject, more, links);
  if (!one.figures || !other.figures) return does_not_apply();  // a schedule may refuse a number of microbatches
  const double missing = (one.figures->peak_bytes - other.figures->peak_bytes) / std::max(one.figures->peak_bytes, 1.0);
  return missing <= 0 ? holds()
                      : violated(to_string(*one.figures) + "\n" + to_string(*other.figures),
                                 one.text + "---\n" + other.text, missing);
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
                                          {"engines", engines},
                                          {"folding", folding},
                                          {"order of keys", order_of_keys},
                                          {"names", names},
                                          {"size of memory", memory_size},
                                          {"larger microbatches", larger_microbatches},
                                          {"more microbatches", more_microbatches}};
  return list;
}

}  // namespace lockstep::test
