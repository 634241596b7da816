// A plan as keys of a scenario file.
#include "sim/studies/planning/plan_space.hpp"

namespace lockstep::planning {
namespace {

/// Whether the scenario lists the operations to recompute, instead of those that `selective` means by itself.
bool names_operations(const workloads::Recompute& recompute) {
  return recompute.any() && !recompute.all &&
         recompute != workloads::Recompute{false, {workloads::OpPart::core_attention}};
}

std::string recompute_text(const workloads::Recompute& recompute) {
  return recompute.all ? "full" : recompute.any() ? "selective" : "none";
}

}  // namespace

std::vector<scenario::KeyOverride> PlanSpace::keys(const Node& node, const PlanChoice& choice) const {
  const auto made = scenario(node, choice);
  std::vector<scenario::KeyOverride> keys;
  for (int axis = 0; axis < std::ssize(plan_axes); ++axis) {
    const auto name = plan_axis_name(axis, choice.zero);
    keys.push_back({"parallel." + name, std::to_string(size_of(choice.degrees, axis))});
    if (axis == data_axis) keys.push_back({name == "data" ? "parallel.fsdp" : "parallel.data", "1"});
  }
  keys.push_back({"parallel.zero", std::to_string(choice.zero)});
  std::string mesh;
  for (const auto& request : made.mesh) {
    std::string parts;
    for (const auto& part : *request.place) parts += (parts.empty() ? "" : ", ") + part;
    mesh += (mesh.empty() ? "" : ", ") + request.name + ": [" + parts + "]";
  }
  if (!mesh.empty()) keys.push_back({"mesh", "{" + mesh + "}"});
  const auto& batch = base_.batch;
  if (base_.lengths.documents.empty()) {
    keys.push_back({"batch", "{sequences: " + std::to_string(batch.sequences) +
                                 ", sequence_length: " + std::to_string(batch.sequence_length) +
                                 ", microbatches: " + std::to_string(choice.microbatches) + "}"});
  } else if (base_.places.contains("batch.microbatch_size")) {
    const auto replicas = std::int64_t{choice.degrees.data} * choice.degrees.expert;
    keys.push_back({"batch.microbatch_size", std::to_string(batch.sequences / replicas / choice.microbatches)});
  } else {
    keys.push_back({"batch.microbatches", std::to_string(choice.microbatches)});
  }
  const std::string sends = base_.lower.sends_in_order ? ", sends: in_order" : "";
  if (choice.schedule.schedule >= 0) {
    keys.push_back({"pipeline", "{schedule: " + made.pipeline.schedule +
                                    ", chunks: " + std::to_string(choice.schedule.chunks) + sends + "}"});
  } else if (base_.places.contains("pipeline")) {
    keys.push_back({"pipeline", "{schedule: 1f1b" + sends + "}"});
  }
  if (recompute_is_searched_ && !names_operations(made.derive.recompute))  // else the file says it
    keys.push_back({"training.recompute", recompute_text(made.derive.recompute)});
  return keys;
}

}  // namespace lockstep::planning
