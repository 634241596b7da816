// Folding is exact where chips, links, nodes or work are not alike: the subject's step with an irregularity of a kind
// drawn at random, folded and with every rank simulated, on one solver.
#include <cmath>

#include "tests/metamorphic/irregularities.hpp"
#include "tests/metamorphic/relations.hpp"

namespace lockstep::test {
namespace {

constexpr double most_unfolded = 4e5;  // operations over all ranks
constexpr double rounding = 1e-12;

std::string slow_chips(Random& random) { return slow_chips(random, 4, 999); }
std::string bad_links(Random& random) { return bad_links(random, 4, 999); }
std::string jitter(Random& random) {
  return "{jitter: 0.0" + number(random, 1, 9) + ", seed: " + number(random, 1, 999) +
         ", distribution: " + random.one_of<std::string>({"uniform}", "exponential}"});
}

/// Nodes of two kinds: some have chips of another peak. False if the cluster is not one of nodes.
bool mix_nodes(Draft& draft, Random& random) {
  const std::string node = "cluster.node", peak = node + ".chip.peak";
  if (!draft.has(node) || draft.number("cluster.nodes") < 2) return false;
  const auto nodes = draft.number("cluster.nodes"), others = random.between(1, nodes - 1);
  const auto usual = draft.map_at(node);
  draft.set(peak, "{bf16: @compute(" + number(random, 100, 1000) + " TFLOP/s)}");
  draft.set("cluster.groups", "[{node: " + usual + ", nodes: " + std::to_string(nodes - others) +
                                  "}, {node: " + draft.map_at(node) + ", nodes: " + std::to_string(others) + "}]");
  draft.remove("cluster.nodes");
  draft.remove(node);
  return true;
}

/// False if the kind that is drawn does not apply.
bool make_irregular(Draft& draft, Random& random) {
  draft.remove("perturbations");
  switch (random.below(6)) {
    case 0: draft.set("perturbations", "[" + slow_chips(random) + "]"); return true;
    case 1: draft.set("perturbations", "[" + bad_links(random) + "]"); return true;
    case 2: draft.set("perturbations", "[" + slow_chips(random) + ", " + bad_links(random) + "]"); return true;
    case 3: draft.set("perturbations", "[" + jitter(random) + "]"); return true;
    case 4: return mix_nodes(draft, random);
    default:
      if (!draft.has("model.moe")) return false;
      draft.remove("routing");
      draft.set("routing", "{variation: 0." + number(random, 1, 6) + ", seed: " + number(random, 1, 99) + "}");
      if (random.percent(50)) draft.set("perturbations", "[" + slow_chips(random) + "]");
      return true;
  }
}

Verdict irregular_folding(Subject& subject) {
  constexpr int most_draws = 30;
  if (subject.figures.operations > most_unfolded) return does_not_apply();
  for (int draw = 0; draw < most_draws; ++draw) {
    auto draft = subject.draft;
    if (!make_irregular(draft, subject.random)) continue;
    const auto folded = simulated(subject, draft, {}, true, engine::EngineKind::max_min);
    if (!folded.figures || folded.figures->operations > most_unfolded) continue;
    const auto whole = simulated(subject, draft, {}, false, engine::EngineKind::max_min);
    if (!whole.figures) return violated("refused only where every rank is simulated", draft.text());
    const double distance = apart(*folded.figures, *whole.figures);
    const double most = draft.value("model_of_time") == "calibrated" ? folded_in_time_bound : rounding;
    if (distance <= most && folded.figures->peak_bytes == whole.figures->peak_bytes) return holds(distance);
    return violated(to_string(*folded.figures) + "\n" + to_string(*whole.figures), draft.text(), distance);
  }
  return does_not_apply();
}

}  // namespace

const std::vector<Relation>& relations_of_irregularity() {
  static const std::vector<Relation> list{{"irregular folding", irregular_folding}};
  return list;
}

}  // namespace lockstep::test
