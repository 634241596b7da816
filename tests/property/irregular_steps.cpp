#include "tests/property/irregular_steps.hpp"

#include <optional>
#include <stdexcept>

#include "sim/core/errors.hpp"
#include "sim/preparation/preparation.hpp"
#include "tests/metamorphic/irregularities.hpp"
#include "tests/metamorphic/random_scenario.hpp"
#include "tests/source_dir.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::test {
namespace {

constexpr std::int64_t fewest_chips = 16, most_chips = 128;
constexpr std::size_t most_work = 300'000;  // operations times ranks: a moment for any engine
constexpr int most_draws = 100'000;

std::string fabric_of(const Draft& draft) {
  if (draft.has("cluster.pods")) return "pods";
  if (draft.has("cluster.shape")) return "torus";
  return draft.has("cluster.halls") ? "halls" : draft.value("cluster.fabric.kind");
}

std::string slow_chips(Random& random) { return slow_chips(random, 3, 99); }
std::string bad_links(Random& random) { return bad_links(random, 3, 99); }

/// A link that traffic can go round: any of a torus, a cable of a network that hashes. A crossbar has none, so a NIC is
/// left with a part of its rate.
std::string missing_link(Draft& draft, const std::string& fabric, Random& random) {
  if (fabric == "crossbar") return "{links_of: \"nic(1,0)\", bandwidth: 0." + number(random, 1, 9) + "}";
  if (fabric != "torus") {
    for (const auto* network : {"cluster.fabric", "cluster.dcn", "cluster.between_halls"}) {
      if (draft.has(network)) draft.set(std::string(network) + ".routing", "ecmp");
    }
  }
  return "{random_links: 1, seed: " + number(random, 1, 999) + ", bandwidth: 0}";
}

/// An even split of the layers over all chunks, with one layer moved to the next chunk.
bool make_stages_uneven(Draft& draft, std::int64_t layers, Random& random) {
  const auto* schedule = workloads::find_schedule(draft.value("pipeline.schedule"));
  const auto chunks = draft.number("parallel.pipeline") * schedule->usual_chunks;
  if (layers < 2 * chunks || layers % chunks != 0) return false;
  const auto from = random.below(chunks);
  std::string list;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const auto moved = chunk == from ? -1 : chunk == (from + 1) % chunks ? 1 : 0;
    list += (chunk == 0 ? "" : ", ") + std::to_string(layers / chunks + moved);
  }
  draft.set("pipeline.layers", "[" + list + "]");
  return true;
}

std::string perturbation_of(Draft& draft, const IrregularDeal& deal, Random& random) {
  if (deal.irregularity == "slow chips") return slow_chips(random);
  if (deal.irregularity == "bad links") return bad_links(random);
  if (deal.irregularity == "a missing link") return missing_link(draft, deal.fabric, random);
  if (deal.irregularity == "jitter")
    return "{jitter: 0.05, seed: " + number(random, 1, 99) +
           ", distribution: " + random.one_of<std::string>({"uniform}", "exponential}"});
  return random.percent(70) ? slow_chips(random) : "";
}

/// Returns none if the scenario that was drawn does not fit the deal.
std::optional<Draft> drawn(const IrregularDeal& deal, Random& random) {
  Draft draft;
  draft.set("format", 1);
  const auto cluster = add_random_cluster(draft, random);
  if (fabric_of(draft) != deal.fabric || cluster.chips < fewest_chips || cluster.chips > most_chips) return {};
  const auto model = add_random_model(draft, random);
  if (deal.irregularity == "uneven experts" && model.experts == 0) return {};
  add_random_plan(draft, cluster, model, random);
  if (draft.has("parallel.pipeline") == deal.schedule.empty()) return {};
  const auto longer = deal.schedule.empty() ? 1 : random.one_of<std::int64_t>({1, 2, 4});  // a steady state to repeat
  for (const auto* key : {"batch.sequences", "batch.microbatches"}) draft.set(key, longer * draft.number(key));
  draft.remove("perturbations");
  draft.remove("training.local_updates");  // an outer step may need other links, and has no draws
  if (!deal.schedule.empty()) draft.set("pipeline.schedule", deal.schedule);
  if (deal.irregularity == "uneven stages" && !make_stages_uneven(draft, model.layers, random)) return {};
  if (deal.irregularity == "uneven experts") {
    draft.remove("routing");
    draft.set("routing", "{variation: 0." + number(random, 1, 6) + ", seed: " + number(random, 1, 99) + "}");
  }
  const auto perturbation = perturbation_of(draft, deal, random);
  if (!perturbation.empty()) draft.set("perturbations", "[" + perturbation + "]");
  return draft;
}

/// Nothing if the program refuses it, or if it is large.
std::optional<IrregularStep> lowered(const Draft& draft) {
  try {
    const auto scenario = scenario::scenario_of_text(draft.text(), "random scenario", source_dir);
    const auto preparation = preparation::prepare_step(scenario);
    auto program = lower_with_perturbations(scenario, preparation);
    if (program.ops.size() * static_cast<std::size_t>(program.ranks()) > most_work) return {};
    return IrregularStep{draft.text(), draft.has("perturbations"), std::move(program)};
  } catch (const ConfigError&) {
    return {};
  }
}

}  // namespace

IrregularDeal irregular_deal(int number) {
  static const std::vector<std::string> fabrics{"torus",    "fat_tree", "rail_optimised", "dragonfly",
                                                "crossbar", "pods",     "halls"};
  static const std::vector<std::string> irregularities{"slow chips", "bad links",      "a missing link",
                                                       "jitter",     "uneven experts", "uneven stages"};
  const auto turn = static_cast<std::size_t>(number);
  const auto& irregularity = irregularities[turn / fabrics.size() % irregularities.size()];
  const bool pipelined = turn % 3 != 0 || irregularity == "uneven stages";
  static const auto all = [] {
    std::vector<std::string> names;
    for (const workloads::Schedule& schedule : workloads::schedules()) {
      if (!schedule.takes_slices) names.emplace_back(schedule.name);
    }
    return names;
  }();
  return {fabrics[turn % fabrics.size()], pipelined ? all[turn % all.size()] : "", irregularity};
}

IrregularStep irregular_step(int number) {
  Random random(static_cast<std::uint64_t>(number) + 1);
  const auto deal = irregular_deal(number);
  for (int draw = 0; draw < most_draws; ++draw) {
    const auto draft = drawn(deal, random);
    if (!draft) continue;
    if (auto step = lowered(*draft)) return std::move(*step);
  }
  throw std::logic_error("no " + deal.schedule + " on " + deal.fabric + " with " + deal.irregularity);
}

}  // namespace lockstep::test
