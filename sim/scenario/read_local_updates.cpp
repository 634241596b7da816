#include <algorithm>
#include <array>

#include "sim/core/counted.hpp"
#include "sim/scenario/reading_private.hpp"

namespace lockstep::scenario {
namespace {

class LocalUpdatesReader {
 public:
  LocalUpdatesReader(const YamlView& view, KeyReader& keys, const Scenario& scenario)
      : view_(view), keys_(keys), scenario_(scenario) {}

  workloads::LocalUpdates read() {
    read_axis();
    read_period();
    read_reduction();
    view_.refuse_unknown_keys();
    refuse_what_differs_between_sites();
    return updates_;
  }

 private:
  void read_axis() {
    const auto axis = keys_.optional(view_, "axis");
    if (axis.exists() && expect_value(axis, "data, or an axis of the mesh with a name of its own"))
      updates_.axis = axis.text();
    const auto& at = axis.exists() ? axis : view_;
    const auto& name = updates_.axis;
    constexpr std::array one_copy{"tensor", "context", "expert", "fsdp", "pipeline"};
    if (std::find(one_copy.begin(), one_copy.end(), name) != one_copy.end())
      return at.problem("ranks along " + name + " have one copy of the model together, so they cannot train apart",
                        "data, or an axis of the mesh with a name of its own");
    const auto request =
        std::find_if(scenario_.mesh.begin(), scenario_.mesh.end(), [&](const auto& one) { return one.name == name; });
    if (request == scenario_.mesh.end() || request->size == 1)
      return at.problem("no replicas lie along an axis " + name,
                        "an axis of several ranks, such as data: 2 in parallel");
    if (name == "data" && scenario_.parallel.zero_on(name) > 0)
      at.problem("parallel.zero splits state over axis data, of which each site keeps its own",
                 "zero 0 on that axis, such as parallel.zero: {context: 1}");
    if (name != "data" && scenario_.places.contains("batch.microbatch_size"))
      at.problem("sequences of a microbatch on each rank do not tell those of all sites along " + name,
                 "batch.microbatches instead of batch.microbatch_size");
    for (const auto* tensors :
         {&scenario_.plan.activations, &scenario_.plan.weights, &scenario_.plan.gradients, &scenario_.plan.optimizer}) {
      for (const auto& tensor : *tensors) {
        if (tensor.sharded_by(name) != nullptr || tensor.is_partial_over(name))
          at.problem("the plan splits " + tensor.name + " over axis " + name + ", of which each site keeps its own",
                     "a plan without that axis");
      }
    }
  }

  void read_period() {
    const auto steps =
        keys_.require(view_, "inner_steps", "steps between two reductions of one parameter, such as 500");
    const auto fragments = keys_.optional(view_, "fragments"), layers = keys_.optional(view_, "fragment_layers"),
               delay = keys_.optional(view_, "delay");
    if (layers.exists()) updates_.in_runs = layers.choice({"interleaved", "sequential"}) == 1;
    const bool periods_known = read_count(steps, 1'000'000'000, updates_.inner_steps);
    const bool parts_known = read_count(fragments, 1'000'000, updates_.fragments) || !fragments.exists();
    if (delay.exists()) updates_.delay = delay.integer(0, 1'000'000'000);
    if (!periods_known || !parts_known) return;  // nothing is said of what follows from a wrong value
    if (updates_.fragments > updates_.inner_steps)
      return fragments.problem(counted(updates_.fragments, "fragment") + " do not take turns within " +
                                   counted(updates_.inner_steps, "inner step"),
                               "at most as many as inner_steps");
    if (delay.exists() && updates_.delay > updates_.steps_between())
      delay.problem("a fragment would still be under way when the next one starts, " +
                        std::to_string(updates_.steps_between()) + " inner steps later",
                    "at most " + std::to_string(updates_.steps_between()) + ", inner_steps / fragments");
  }

  /// Whether there is a number, and none that is wrong, for which YamlView::integer takes the least.
  static bool read_count(const YamlView& view, std::int64_t most, std::int64_t& into) {
    if (view.exists()) into = view.integer(1, most);
    return view.is_scalar() && (into > 1 || view.text() == "1");
  }

  void read_reduction() {
    const auto precision = keys_.optional(view_, "precision");
    constexpr std::array<std::int64_t, 4> bits{32, 16, 8, 4};
    if (precision.exists()) updates_.bits = bits[precision.choice({"fp32", "bf16", "8-bit", "4-bit"})];
    const auto state = keys_.optional(view_, "outer_state");
    if (state.exists()) updates_.on_host = state.choice({"chip", "host"}) == 1;
  }

  void refuse_what_differs_between_sites() const {
    if (scenario_.replay)
      view_.problem("replayed operations have no parameters to bring together", "a model by its shape");
    if (!scenario_.lengths.documents.empty())
      view_.problem("documents that differ from site to site are not drawn for each of them", "no batch.lengths");
  }

  const YamlView& view_;
  KeyReader& keys_;
  const Scenario& scenario_;
  workloads::LocalUpdates updates_;
};

}  // namespace

void read_local_updates(const YamlView& view, KeyReader& keys, Scenario& scenario) {
  if (!view.exists()) return;
  if (!view.is_map()) {
    const std::string expected = "none, or a map such as {axis: data, inner_steps: 500}";
    if (expect_value(view, expected) && view.text() != "none")
      view.problem('`' + view.text() + "` is not known", expected);
    return;
  }
  scenario.step.local_updates = LocalUpdatesReader(view, keys, scenario).read();
}

}  // namespace lockstep::scenario
