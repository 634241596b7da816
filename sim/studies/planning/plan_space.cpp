#include "sim/studies/planning/plan_space.hpp"

#include <algorithm>
#include <tuple>

#include "sim/cost/layer_time.hpp"
#include "sim/program/shared_chip.hpp"
#include "sim/scenario/limits.hpp"
#include "sim/simulate.hpp"
#include "sim/studies/planning/fixed_parts_private.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::planning {
namespace {

// A little under what `prepare` refuses, since steps of a block are counted on one plan of each kind.
constexpr double share_of_limits = 0.75;

bool allows(const std::vector<std::int64_t>& allowed, std::int64_t size) {
  return allowed.empty() || std::find(allowed.begin(), allowed.end(), size) != allowed.end();
}

/// Whether the schedule with these chunks is another one: interleaving with one chunk is 1F1B or a relative of it,
/// which a search lists by its own name.
bool is_another(const workloads::Schedule& schedule, std::int32_t chunks) {
  return schedule.placement == workloads::StagePlacement::loop && chunks == 1;
}

/// Chunks per rank that a schedule is tried with; a design also with one.
std::vector<std::int32_t> chunks_of(const workloads::Schedule& schedule, const scenario::SearchSpec& search) {
  if (!schedule.takes_chunks()) return {schedule.usual_chunks};
  auto chunks = search.chunks;
  if (schedule.designs && std::find(chunks.begin(), chunks.end(), 1) == chunks.end()) chunks.insert(chunks.begin(), 1);
  return chunks;
}

/// `mesh`: of the whole machine, or empty.
Degrees degrees_of(const std::vector<topologies::AxisRequest>& mesh, std::int32_t chips) {
  Degrees degrees;
  if (mesh.empty()) return degrees;
  for (const auto& axis : mesh) {
    if (axis.name == "tensor") degrees.tensor = axis.size;
    if (axis.name == "context") degrees.context = axis.size;
    if (axis.name == "expert") degrees.expert = axis.size;
    if (axis.name == "pipeline") degrees.pipeline = axis.size;
  }
  const auto split = std::int64_t{degrees.tensor} * degrees.context * degrees.expert * degrees.pipeline;
  if (split > 0) degrees.data = static_cast<std::int32_t>(chips / split);
  return degrees;
}

double least_loss_beside_collectives(const scenario::Scenario& scenario) {
  if (scenario.time_model != cost::TimeModel::calibrated) return 0;
  const auto held = scenario.derive.token_copies.multiprocessors;  // of a dispatcher, if it has a number of its own
  double least = 1;
  for (const auto& chip : scenario.cluster.chips()) {
    if (!chip.kernels) return 0;
    least = std::min(least, 1 - 1 / cost::overlap_slowdown(*chip.kernels));
    if (held >= 0) least = std::min(least, 1 - 1 / program::dispatch_slowdown(*chip.kernels, held));
  }
  return least;
}

}  // namespace

std::string plan_axis_name(int axis, int zero) {
  return axis == data_axis && zero == 3 ? "fsdp" : std::string(plan_axes[position_of(axis)]);
}

std::int32_t size_of(const Degrees& degrees, int axis) {
  return std::array{degrees.tensor, degrees.context, degrees.expert, degrees.data, degrees.pipeline}[position_of(axis)];
}

PlanSpace::PlanSpace(const scenario::Scenario& scenario)
    : base_((refuse_fixed_parts(scenario), scenario)),
      cluster_(build_cluster(scenario.cluster)),
      symmetry_(cluster_),
      memory_(scenario.search.memory.value_or(scenario.cluster.chip().capacity())),
      lost_beside_collectives_(least_loss_beside_collectives(scenario)),
      recomputations_(scenario.search.recompute),
      recompute_is_searched_(!scenario.search.recompute.empty() || !scenario.places.contains("training.recompute")) {
  if (recomputations_.empty() && recompute_is_searched_)
    recomputations_ = {{}, {false, {workloads::OpPart::core_attention}}, {true, {}}};
  if (recomputations_.empty()) recomputations_ = {base_.derive.recompute};
  degrees_of_file_ = degrees_of(base_.mesh, static_cast<std::int32_t>(cluster_.devices()));
  if (degrees_of_file_.context > 1 && !base_.places.contains("search.context"))
    base_.search.context.push_back(degrees_of_file_.context);  // sequences so long are split in any plan that fits
  base_.mesh.clear();
  for (const auto& name : base_.search.schedules) schedule_of_choice_.push_back(workloads::find_schedule(name));
  const auto blocks = blocks_of(base_.model, base_.blocks);
  kinds_ = blocks.order;
  for (const int kind : kinds_) is_layer_.push_back(blocks.kinds[kind].is_layer);
  list_degrees();
  plans_of_file_ = find_plans_of(scenario);
  if (size_ > 0) return;
  throw ConfigError(
      {{scenario.where("search"), "search",
        "no plan splits " + std::to_string(scenario.batch.sequences) + " sequences over " +
            std::to_string(scenario.chips()) + " chips" + (why_none().empty() ? "" : " (" + why_none() + ")"),
        "sizes that multiply to the chips and divide the model and the batch"}});
}

void PlanSpace::list_degrees() {
  const auto chips = static_cast<std::int32_t>(cluster_.devices());
  const auto& search = base_.search;
  const auto divisors = [](std::int32_t of, const std::vector<std::int64_t>& allowed, std::int64_t most,
                           const auto& visit) {
    for (std::int32_t size = 1; size <= of && size <= most; ++size) {
      if (of % size == 0 && allows(allowed, size)) visit(size);
    }
  };
  const auto& model = base_.model;
  const std::int64_t experts = model.experts ? model.experts->count : 1;
  divisors(chips, search.tensor, model.attention ? model.heads : model.d_ff, [&](std::int32_t tensor) {
    divisors(chips / tensor, search.context, model.attention ? base_.batch.sequence_length : 1,
             [&](std::int32_t context) {
               divisors(chips / tensor / context, search.expert, experts, [&](std::int32_t expert) {
                 divisors(chips / tensor / context / expert, search.pipeline, std::ssize(is_layer_),
                          [&](std::int32_t pipeline) {
                            add({tensor, context, expert, chips / tensor / context / expert / pipeline, pipeline});
                          });
               });
             });
  });
}

void PlanSpace::add(const Degrees& degrees) {
  Node node{degrees, {}, microbatches_of(degrees), {}, 0};
  if (node.microbatches.empty()) return;
  const bool replicated = degrees.data > 1 || degrees.context > 1 || degrees.expert > 1;
  node.zeros = base_.search.zero;
  if (!replicated) node.zeros.resize(1);  // nothing to split
  PlanChoice any;
  any.degrees = degrees;
  const auto placements = every_placement(cluster_, scenario(any, base_.batch.sequences).mesh);
  if (const auto* error = std::get_if<topologies::PlacementError>(&placements)) {
    throw ConfigError(
        {{base_.where("search"), "search", error->what, "fewer sizes to choose from, or a smaller cluster"}});
  }
  node.placements = std::get<0>(placements);
  std::int64_t orders = 0;
  for (const auto microbatches : node.microbatches) orders += std::ssize(schedules(degrees.pipeline, microbatches));
  node.plans = orders * std::ssize(node.zeros) * std::ssize(recomputations_) * std::ssize(node.placements);
  if (node.plans == 0) {
    tell_why_no_schedule(node);
    return;
  }
  size_ += node.plans;
  nodes_.push_back(std::move(node));
}

void PlanSpace::tell_why_no_schedule(const Node& node) {
  if (!no_schedule_.empty() || schedule_of_choice_.empty()) return;
  const auto& first = *schedule_of_choice_.front();
  const auto chunks = first.takes_chunks() ? base_.search.chunks.front() : first.usual_chunks;
  if (const auto why = first.why_not(node.degrees.pipeline, node.microbatches.front(), chunks))
    no_schedule_ = why->what;
}

PlanSpace::Split PlanSpace::split_over(const Degrees& degrees) {
  const auto sequences = base_.batch.sequences;
  Split split;
  if (sequences % degrees.expert != 0) return split;
  const PlanChoice one{degrees, 3, static_cast<std::int32_t>(recomputations_.size()) - 1, sequences / degrees.expert,
                       0,       {}};
  auto untiled = scenario(one, sequences);
  untiled.derive.loss_tiles = 1;  // as many operations
  try {
    const auto model = preparation::sharded_model(untiled);
    for (const int kind : model.order) {
      const auto& block = model.layers[kind];
      split.operations += static_cast<double>(block.forward.size() + block.backward.size() + 2 * block.weights.size());
    }
  } catch (const ConfigError&) {
    return {};  // heads, tokens or experts cannot be split so
  }
  split.lacks_tokens = base_.derive.loss_tiles > 1 && why_not_tiled(degrees, 1).has_value();
  return split;
}

std::optional<std::string> PlanSpace::why_not_tiled(const Degrees& degrees, std::int64_t sequences) const {
  const PlanChoice one{degrees, 3, static_cast<std::int32_t>(recomputations_.size()) - 1, 1, 0, {}};
  try {
    (void)preparation::sharded_model(scenario(one, sequences * degrees.expert));
    return {};
  } catch (const ConfigError& error) {
    const auto& why = error.problems().front();
    return why.key + ": " + why.what;
  }
}

std::vector<std::int64_t> PlanSpace::microbatches_of(const Degrees& degrees) {
  const auto& batch = base_.batch;
  const Degrees inside{degrees.tensor, degrees.context, degrees.expert, 1, 1};
  const auto [known, is_new] = splits_.try_emplace({degrees.tensor, degrees.context, degrees.expert});
  if (is_new) known->second = split_over(inside);
  const auto& split = known->second;
  std::vector<std::int64_t> result;
  if (split.operations == 0) return result;
  const std::int64_t ranks = std::int64_t{degrees.data} * degrees.expert;
  if (batch.sequences % ranks != 0) return result;
  for (std::int64_t count = 1; count <= std::min(batch.sequences / ranks, scenario::most_microbatches_of_a_step);
       ++count) {
    if (batch.sequences / ranks % count != 0 || !allows(base_.search.microbatches, count)) continue;
    if (split.lacks_tokens) {
      if (auto why = why_not_tiled(inside, batch.sequences / ranks / count)) {
        too_many_tiles_ = std::move(*why);
        break;
      }
    }
    const double operations = split.operations * static_cast<double>(count);
    if (operations > share_of_limits * scenario::most_step_operations ||
        operations * (cluster_.devices() / degrees.pipeline) > share_of_limits * scenario::most_rank_operations)
      break;
    result.push_back(count);
  }
  return result;
}

const PlanSpace::ScheduleChoices& PlanSpace::choices(std::int32_t pipeline, std::int64_t microbatches) const {
  const std::lock_guard lock(making_);
  const auto [known, is_new] = choices_.try_emplace({pipeline, microbatches});
  auto& made = known->second;
  if (!is_new) return made;
  if (pipeline == 1) {
    made = {{{}}, {{{}}}};
    return made;
  }
  const auto& search = base_.search;
  std::map<std::tuple<workloads::StagePlacement, std::int32_t, bool, bool>, std::size_t> forms;
  for (std::int32_t i = 0; i < std::ssize(search.schedules); ++i) {
    const auto& schedule = *schedule_of_choice_[position_of(i)];
    for (const auto chunks : chunks_of(schedule, search)) {
      if (is_another(schedule, chunks) || schedule.why_not(pipeline, microbatches, chunks) ||
          !workloads::split_layers(is_layer_, pipeline * chunks, {}).what.empty())
        continue;
      made.all.push_back({i, chunks});
      const auto form =
          forms
              .try_emplace({schedule.placement_for(chunks), chunks, schedule.splits_backward, schedule.overlaps},
                           made.forms.size())
              .first->second;
      if (form == made.forms.size()) made.forms.emplace_back();
      made.forms[form].push_back({i, chunks});
    }
  }
  return made;
}

std::int32_t PlanSpace::least_recomputation() const {
  const auto more = [](const workloads::Recompute& recompute) { return std::pair(recompute.all, recompute.any()); };
  const auto least = std::min_element(recomputations_.begin(), recomputations_.end(),
                                      [&](const auto& a, const auto& b) { return more(a) < more(b); });
  return static_cast<std::int32_t>(least - recomputations_.begin());
}

const workloads::Schedule& PlanSpace::schedule(const ScheduleChoice& choice) const {
  static const workloads::Schedule& without_pipeline = *workloads::find_schedule("1f1b");
  return choice.schedule < 0 ? without_pipeline : *schedule_of_choice_[position_of(choice.schedule)];
}

const VirtualStageBlocks& PlanSpace::virtual_stages(std::int32_t count) const {
  const std::lock_guard lock(making_);
  const auto [known, is_new] = virtual_stages_.try_emplace(count);
  auto& made = known->second;
  if (!is_new) return made;
  const auto first_block = workloads::split_layers(is_layer_, count, {}).first_block;
  const auto kind = [&](int block) { return kinds_.begin() + block; };
  for (std::size_t stage = 0; stage + 1 < first_block.size(); ++stage) {
    const VirtualStageBlocks::Blocks blocks{first_block[stage], first_block[stage + 1]};
    const auto alike = [&](const VirtualStageBlocks::Blocks& other) {
      if ((blocks.first == 0) != (other.first == 0)) return false;
      const int before = blocks.first == 0 ? 0 : 1;
      return std::equal(kind(blocks.first - before), kind(blocks.last), kind(other.first - before), kind(other.last));
    };
    const auto found = std::find_if(made.different.begin(), made.different.end(), alike);
    made.which.push_back(static_cast<std::int32_t>(found - made.different.begin()));
    if (found == made.different.end()) made.different.push_back(blocks);
  }
  return made;
}

scenario::Scenario PlanSpace::scenario(const PlanChoice& choice, std::int64_t sequences) const {
  scenario::Scenario made = base_;
  for (int axis = 0; axis < std::ssize(plan_axes); ++axis) {
    const auto size = size_of(choice.degrees, axis);
    if (size > 1) made.mesh.push_back({plan_axis_name(axis, choice.zero), size, std::nullopt});
  }
  made.parallel.zero = choice.zero;
  made.batch.sequences = sequences;
  made.batch.microbatches = choice.microbatches;
  made.step.microbatches = choice.microbatches;
  made.derive.recompute = recomputations_[position_of(choice.recompute)];
  return made;
}

scenario::Scenario PlanSpace::scenario(const Node& node, const PlanChoice& choice) const {
  auto made = scenario(choice, base_.batch.sequences);
  for (std::size_t axis = 0; axis < made.mesh.size(); ++axis) {
    made.mesh[axis].place = place_text(cluster_, node.placements[position_of(choice.placement)][axis]);
  }
  made.places.erase("pipeline");
  if (choice.schedule.schedule >= 0) {
    made.pipeline.schedule = schedule(choice.schedule).name;
    made.pipeline.chunks = choice.schedule.chunks;
    made.pipeline.group.reset();
    made.pipeline.memory_limit.clear();
    made.pipeline.placement.reset();
  }
  return made;
}

const PlanSpace::Node& PlanSpace::node_of(const PlanChoice& choice) const {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.degrees == choice.degrees; });
  if (found == nodes_.end()) throw InternalError("a plan that is not in the space");
  return *found;
}

std::vector<PlanChoice> PlanSpace::plans_of(const Node& node) const {
  std::vector<PlanChoice> plans;
  for (const auto zero : node.zeros) {
    for (std::int32_t recompute = 0; recompute < std::ssize(recomputations_); ++recompute) {
      for (const auto microbatches : node.microbatches) {
        for (std::int32_t placement = 0; placement < std::ssize(node.placements); ++placement) {
          for (const auto& schedule : schedules(node.degrees.pipeline, microbatches)) {
            plans.push_back({node.degrees, zero, recompute, microbatches, placement, schedule});
          }
        }
      }
    }
  }
  return plans;
}

}  // namespace lockstep::planning
